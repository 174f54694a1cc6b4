/**
 * A chart over time on a canvas, drawn by uPlot. This is the thin shell around it: what is drawn, and where the marks are, is
 * decided by chart-data.ts and time-ticks.ts. uPlot is an argument, because it is loaded when the first chart is shown.
 */
import type uPlot from "uplot";
import { timeTicks } from "../time/time-ticks.ts";
import { type ChartData, timeBounds, valueTicks } from "./chart-data.ts";

/** The library, as it is loaded. */
export type PlotLibrary = typeof uPlot;

/** Stacked areas, lines, or stacked bars. */
export type PlotKind = "area" | "line" | "bar";

/** How a plot looks; another look is another plot. */
interface PlotLook {
  readonly kind: PlotKind;
  /** Colours as the canvas takes them: of each series, of texts, of thin lines. */
  readonly colors: { readonly series: readonly string[]; readonly text: string; readonly line: string };
  readonly font: string;
  readonly heightPx: number;
}

/** What a plot shows; it may change while the plot stays. */
export interface PlotContent {
  readonly data: ChartData;
  /** A line above which nothing should be, one value for each instant; null if there is none. */
  readonly limit: readonly (number | null)[] | null;
  readonly zone: string;
  /** Bounds of the time axis; null: from the first instant to the last. */
  readonly range: { readonly fromMs: number; readonly toMs: number } | null;
  /** Instants with a vertical line, epoch ms. */
  readonly marks: readonly number[];
  readonly isWhole: boolean;
  readonly format: (value: number) => string;
}

/** The plot on the page. */
export interface Plot {
  readonly show: (content: PlotContent) => void;
  readonly resize: (widthPx: number) => void;
  /** Puts the cursor on an instant by its position; null takes it away. */
  readonly point: (at: number | null) => void;
  readonly destroy: () => void;
}

const AXIS_WIDTH_PX = 60;
const TIME_AXIS_HEIGHT_PX = 44;
const TIME_LABEL_WIDTH_PX = 90;
/** A label this near the end of the time axis would not be whole. */
const END_PX = 12;

/** Where the cursor is: the position of its instant among the instants, and on the plot. */
export interface PlotCursor {
  readonly at: number;
  /** Distance from the left edge of the host. */
  readonly leftPx: number;
  readonly isRightHalf: boolean;
}

/**
 * Draws a plot into an element, and tells where its cursor is whenever that changes. It is drawn when this has returned: from
 * `onReady` on a cursor can be put on it.
 */
export function drawPlot(
  Library: PlotLibrary,
  host: HTMLElement,
  look: PlotLook,
  first: PlotContent,
  widthPx: number,
  onCursor: (cursor: PlotCursor | null) => void,
  onReady: () => void,
): Plot {
  let content = first;
  let ticks = timeTicks("UTC", 0, 0, 0);
  const { colors, font, kind } = look;
  const axis = { stroke: colors.text, font };
  const grid = { stroke: colors.line, width: 1 };
  const seriesCount = first.data.tops.length;
  const plot = new Library(
    {
      width: widthPx,
      height: look.heightPx,
      ms: 1,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      scales: {
        x: { time: false, range: () => [...timeBounds(content.data.atMs, content.range, kind === "bar")] },
        y: { range: () => [0, valueTicks(peakOf(content), content.isWhole).at(-1) ?? 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          ticks: grid,
          size: TIME_AXIS_HEIGHT_PX,
          splits: (u, _axis, min, max) => {
            ticks = timeTicks(
              content.zone,
              Math.ceil(min),
              Math.floor(max),
              (u.width - AXIS_WIDTH_PX) / TIME_LABEL_WIDTH_PX,
            );
            return [...ticks.atMs];
          },
          values: (u, splits) =>
            splits.map((at) => (isAtEnd(u, at) ? "" : (ticks.labels[ticks.atMs.indexOf(at)] ?? ""))),
        },
        {
          ...axis,
          grid,
          ticks: { show: false },
          size: AXIS_WIDTH_PX,
          splits: () => [...valueTicks(peakOf(content), content.isWhole)],
          values: (_u, splits) => splits.map((value) => content.format(value)),
        },
      ],
      series: [
        {},
        ...Array.from({ length: seriesCount }, (_, at) => seriesOf(Library, look, seriesCount - 1 - at)),
        ...(first.limit === null ? [] : [{ stroke: colors.text, width: 1.5, dash: [6, 4], points: { show: false } }]),
      ],
      hooks: {
        ready: [onReady],
        draw: [(u) => drawMarks(u, content.marks, colors.text)],
        setCursor: [
          (u) => {
            const at = u.cursor.idx ?? null;
            const epochMs = at === null ? undefined : u.data[0][at];
            if (at === null || epochMs === undefined) return onCursor(null);
            const leftPx = u.valToPos(epochMs, "x") + u.bbox.left / devicePixelRatio;
            onCursor({ at, leftPx, isRightHalf: leftPx > u.width / 2 });
          },
        ],
      },
    },
    alignedData(content),
    host,
  );
  return {
    show: (next) => {
      content = next;
      // as one step, so that the cursor can be put on an instant of the new data at once
      plot.batch(() => plot.setData(alignedData(next)));
    },
    resize: (nextPx) => plot.setSize({ width: nextPx, height: look.heightPx }),
    point: (at) => {
      const epochMs = at === null ? undefined : content.data.atMs[at];
      plot.setCursor({ left: epochMs === undefined ? -10 : plot.valToPos(epochMs, "x"), top: 0 });
    },
    destroy: () => plot.destroy(),
  };
}

function drawMarks(u: uPlot, marks: readonly number[], color: string): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const at of marks) {
    const x = Math.round(u.valToPos(at, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/** Whether a mark is so near the right end that its label would be cut. */
function isAtEnd({ width, scales }: uPlot, at: number): boolean {
  const { min, max } = scales["x"] ?? {};
  if (min == null || max == null || max <= min) return false;
  return ((max - at) / (max - min)) * (width - AXIS_WIDTH_PX) < END_PX;
}

/** Stacks are drawn from the highest top down, each one over the one before. */
function alignedData({ data, limit }: PlotContent): uPlot.AlignedData {
  const lines = [...data.tops].reverse().map((line) => [...line]);
  return [[...data.atMs], ...lines, ...(limit === null ? [] : [[...limit]])];
}

/** Where a value has none beside it, so that no line shows it. */
function lone({ data }: uPlot, series: number): number[] {
  const list = data[series] ?? [];
  return [...list.keys()].filter((at) => list[at] != null && list[at - 1] == null && list[at + 1] == null);
}

function seriesOf(Library: PlotLibrary, { kind, colors }: PlotLook, at: number): uPlot.Series {
  const color = colors.series[at] ?? colors.text;
  const points = { show: false, filter: lone, size: 6, fill: color };
  if (kind === "line") return { stroke: color, width: 1.75, points };
  if (kind === "area") return { stroke: color, fill: color, width: 1, points };
  const bars = Library.paths.bars?.({ size: [0.7, 48] });
  return {
    stroke: color,
    fill: color,
    width: 0,
    points: { show: false },
    ...(bars === undefined ? {} : { paths: bars }),
  };
}

function peakOf({ data, limit }: PlotContent): number {
  return (limit ?? []).reduce<number>((peak, value) => Math.max(peak, value ?? 0), data.peak);
}

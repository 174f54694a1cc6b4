/**
 * A chart over time on a canvas. This is the thin shell that draws; what is drawn, and where the marks are, is decided by
 * chart-data.ts and time-ticks.ts.
 */
import { timeTicks } from "../time/time-ticks.ts";
import { axisPx, type ChartData, nearestTo, runsOf, timeBounds, valueTicks } from "./chart-data.ts";

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

/** Where the cursor is: the position of its instant among the instants, and on the plot. */
export interface PlotCursor {
  readonly at: number;
  /** Distance from the left edge of the host. */
  readonly leftPx: number;
  readonly isRightHalf: boolean;
}

const TIME_AXIS_HEIGHT_PX = 44;
const TOP_PX = 17;
const RIGHT_PX = 25;
const TIME_LABEL_WIDTH_PX = 72;
/** A label this near the end of the time axis would not be whole. */
const END_PX = 12;
const TICK_PX = 10;
const LABEL_GAP_PX = 5;
const LABEL_LINE_PX = 18;
const DOT_RADIUS_PX = 3;
const BAR_MAX_PX = 48;
/** Of the distance between two bars. */
const BAR_SHARE = 0.7;

/** The plot's area within the canvas, and where values are in it. */
interface Scale {
  readonly leftPx: number;
  readonly rightPx: number;
  readonly bottomPx: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly ticks: readonly number[];
  readonly x: (epochMs: number) => number;
  readonly y: (value: number) => number;
}

type Line = readonly (number | null)[];

/** Draws a plot into an element, and tells where its cursor is whenever that changes. */
export function drawPlot(
  host: HTMLElement,
  look: PlotLook,
  first: PlotContent,
  firstWidthPx: number,
  onCursor: (cursor: PlotCursor | null) => void,
): Plot {
  const canvas = document.createElement("canvas");
  /** Everything but the cursor. */
  const still = document.createElement("canvas");
  let content = first;
  let widthPx = firstWidthPx;
  /** Share of the plot's width that lies left of the cursor. */
  let cursor: number | null = null;

  const point = (share: number | null): void => {
    cursor = share;
    const scale = scaleOf(look, content, widthPx);
    const at = share === null ? -1 : nearestTo(content.data.atMs, instantAt(scale, share));
    paint(canvas, widthPx, look.heightPx, (ctx) => {
      ctx.drawImage(still, 0, 0, still.width / devicePixelRatio, still.height / devicePixelRatio);
      if (share !== null) drawCursor(ctx, look, content, scale, share, at);
    });
    const epochMs = content.data.atMs[at];
    const leftPx = epochMs === undefined ? 0 : scale.x(epochMs);
    onCursor(epochMs === undefined ? null : { at, leftPx, isRightHalf: leftPx > widthPx / 2 });
  };
  const draw = (): void => {
    paint(still, widthPx, look.heightPx, (ctx) => drawStill(ctx, look, content, scaleOf(look, content, widthPx)));
    point(cursor);
  };
  const follow = (event: MouseEvent): void => {
    const { leftPx, rightPx, bottomPx } = scaleOf(look, content, widthPx);
    const { left, top } = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const isInside = x >= leftPx && x <= rightPx && y >= TOP_PX && y <= bottomPx;
    if (isInside || cursor !== null) point(isInside ? (x - leftPx) / (rightPx - leftPx) : null);
  };
  canvas.addEventListener("mousemove", follow);
  canvas.addEventListener("mouseleave", () => point(null));
  host.append(canvas);
  draw();
  return {
    show: (next) => {
      content = next;
      draw();
    },
    resize: (nextPx) => {
      widthPx = nextPx;
      draw();
    },
    point: (at) => {
      const epochMs = at === null ? undefined : content.data.atMs[at];
      const { fromMs, toMs } = scaleOf(look, content, widthPx);
      point(epochMs === undefined ? null : (epochMs - fromMs) / (toMs - fromMs));
    },
    destroy: () => canvas.remove(),
  };
}

/** Draws on a canvas of this size, in pixels of CSS. */
function paint(
  canvas: HTMLCanvasElement,
  widthPx: number,
  heightPx: number,
  draw: (ctx: CanvasRenderingContext2D) => void,
): void {
  const ctx = canvas.getContext("2d");
  if (ctx === null || !(widthPx > 0)) return;
  canvas.width = Math.round(widthPx * devicePixelRatio);
  canvas.height = Math.round(heightPx * devicePixelRatio);
  canvas.style.width = `${widthPx}px`;
  canvas.style.height = `${heightPx}px`;
  ctx.scale(devicePixelRatio, devicePixelRatio);
  draw(ctx);
}

function scaleOf({ kind, heightPx }: PlotLook, content: PlotContent, widthPx: number): Scale {
  const { data, limit, range, isWhole } = content;
  const [fromMs, toMs] = timeBounds(data.atMs, range, kind === "bar");
  const peak = (limit ?? []).reduce<number>((most, value) => Math.max(most, value ?? 0), data.peak);
  const ticks = valueTicks(peak, isWhole);
  const leftPx = axisPx(ticks.map(content.format)) + LABEL_GAP_PX;
  const [rightPx, bottomPx] = [widthPx - RIGHT_PX, heightPx - TIME_AXIS_HEIGHT_PX];
  return {
    leftPx,
    rightPx,
    bottomPx,
    fromMs,
    toMs,
    ticks,
    x: (epochMs) => snapped(leftPx + ((epochMs - fromMs) / (toMs - fromMs)) * (rightPx - leftPx)),
    y: (value) => snapped(bottomPx - (value / (ticks.at(-1) ?? 1)) * (bottomPx - TOP_PX)),
  };
}

function instantAt({ fromMs, toMs }: Scale, share: number): number {
  return fromMs + share * (toMs - fromMs);
}

/** On a whole pixel of the screen, so that thin lines are sharp. */
function snapped(px: number): number {
  return Math.round(px * devicePixelRatio) / devicePixelRatio;
}

function drawStill(ctx: CanvasRenderingContext2D, look: PlotLook, content: PlotContent, scale: Scale): void {
  const { kind, colors } = look;
  const { atMs, tops } = content.data;
  ctx.lineJoin = "round";
  ctx.font = look.font;
  drawAxes(ctx, look, content, scale);
  ctx.beginPath();
  ctx.rect(scale.leftPx, TOP_PX, scale.rightPx - scale.leftPx, scale.bottomPx - TOP_PX);
  ctx.clip();
  // from the highest of a stack down, each one over the one before
  for (const [at, line] of [...tops.entries()].reverse()) {
    const color = colors.series[at] ?? colors.text;
    ctx.strokeStyle = color;
    ctx.fillStyle = color;
    if (kind === "bar") drawBars(ctx, atMs, line, scale);
    else drawRuns(ctx, atMs, line, scale, kind);
  }
  ctx.strokeStyle = colors.text;
  ctx.setLineDash([6, 4]);
  ctx.lineWidth = 1.5;
  for (const run of runsOf(content.limit ?? [])) strokeRun(ctx, atMs, content.limit ?? [], run, scale);
  ctx.setLineDash([2, 4]);
  ctx.lineWidth = 1;
  for (const at of content.marks) strokeLine(ctx, scale.x(at), TOP_PX, scale.x(at), scale.bottomPx);
}

function drawAxes(ctx: CanvasRenderingContext2D, { colors }: PlotLook, content: PlotContent, scale: Scale): void {
  const { leftPx, rightPx, bottomPx, fromMs, toMs } = scale;
  const maxTicks = (rightPx + RIGHT_PX - leftPx) / TIME_LABEL_WIDTH_PX;
  const time = timeTicks(content.zone, Math.ceil(fromMs), Math.floor(toMs), maxTicks);
  ctx.fillStyle = colors.text;
  ctx.strokeStyle = colors.line;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (const [at, epochMs] of time.atMs.entries()) {
    const x = scale.x(epochMs);
    strokeLine(ctx, x, bottomPx, x, bottomPx + TICK_PX);
    if (((toMs - epochMs) / (toMs - fromMs)) * (rightPx + RIGHT_PX - leftPx) < END_PX) continue;
    for (const [line, text] of (time.labels[at] ?? "").split("\n").entries())
      ctx.fillText(text, x, bottomPx + TICK_PX + LABEL_GAP_PX + line * LABEL_LINE_PX);
  }
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const value of scale.ticks) {
    strokeLine(ctx, leftPx, scale.y(value), rightPx, scale.y(value));
    ctx.fillText(content.format(value), leftPx - LABEL_GAP_PX, scale.y(value));
  }
}

/** A straight line of one pixel of CSS, upright or level. */
function strokeLine(ctx: CanvasRenderingContext2D, x: number, y: number, toX: number, toY: number): void {
  const half = (Math.round(devicePixelRatio) % 2) / 2 / devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x + (x === toX ? half : 0), y + (y === toY ? half : 0));
  ctx.lineTo(toX + (x === toX ? half : 0), toY + (y === toY ? half : 0));
  ctx.stroke();
}

function drawRuns(
  ctx: CanvasRenderingContext2D,
  atMs: readonly number[],
  line: Line,
  scale: Scale,
  kind: PlotKind,
): void {
  ctx.lineWidth = kind === "line" ? 1.75 : 1;
  for (const run of runsOf(line)) {
    const [first, last] = run;
    if (first === last) drawDot(ctx, scale.x(atMs[first] ?? 0), scale.y(line[first] ?? 0));
    else strokeRun(ctx, atMs, line, run, scale);
    if (kind !== "area" || first === last) continue;
    ctx.lineTo(scale.x(atMs[last] ?? 0), scale.bottomPx);
    ctx.lineTo(scale.x(atMs[first] ?? 0), scale.bottomPx);
    ctx.fill();
  }
}

function strokeRun(
  ctx: CanvasRenderingContext2D,
  atMs: readonly number[],
  line: Line,
  [first, last]: readonly [first: number, last: number],
  scale: Scale,
): void {
  ctx.beginPath();
  for (let at = first; at <= last; at++) ctx.lineTo(scale.x(atMs[at] ?? 0), scale.y(line[at] ?? 0));
  ctx.stroke();
}

function drawBars(ctx: CanvasRenderingContext2D, atMs: readonly number[], line: Line, scale: Scale): void {
  const { leftPx, rightPx, bottomPx, fromMs, toMs } = scale;
  const nearestMs = Math.min(toMs - fromMs, ...atMs.slice(1).map((at, before) => at - (atMs[before] ?? at)));
  const width = (nearestMs / (toMs - fromMs)) * (rightPx - leftPx) * BAR_SHARE;
  const barPx = snapped(Math.min(BAR_MAX_PX, Math.max(1, width)));
  for (const [at, epochMs] of atMs.entries()) {
    const top = scale.y(line[at] ?? 0);
    ctx.fillRect(snapped(scale.x(epochMs) - barPx / 2), top, barPx, bottomPx - top);
  }
}

function drawCursor(
  ctx: CanvasRenderingContext2D,
  { colors }: PlotLook,
  { data, limit }: PlotContent,
  scale: Scale,
  share: number,
  at: number,
): void {
  const x = snapped(scale.leftPx + share * (scale.rightPx - scale.leftPx));
  ctx.strokeStyle = colors.text;
  ctx.setLineDash([3, 3]);
  strokeLine(ctx, x, TOP_PX, x, scale.bottomPx);
  const dots = [...data.tops.map((line, which) => [line, colors.series[which]] as const), [limit ?? [], colors.text]];
  for (const [line, color] of dots as readonly (readonly [Line, string | undefined])[]) {
    const value = line[at] ?? null;
    if (value === null) continue;
    ctx.fillStyle = color ?? colors.text;
    drawDot(ctx, scale.x(data.atMs[at] ?? 0), scale.y(value));
  }
}

function drawDot(ctx: CanvasRenderingContext2D, x: number, y: number): void {
  ctx.beginPath();
  ctx.arc(x, y, DOT_RADIUS_PX, 0, 2 * Math.PI);
  ctx.fill();
}

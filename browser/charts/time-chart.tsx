/**
 * A chart over time (docs/rules/console-figures.md#charts): stacked areas, lines or stacked bars by the clock of the page's zone.
 * It can be read by pointer, by keyboard (a slider over its instants, whose text says the values) and as a table.
 */
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { chartTexts } from "../messages/en/charts.ts";
import { texts } from "../messages/texts.ts";
import { formatInstant } from "../time/instants.ts";
import { useZone } from "../time/zone-context.tsx";
import { type ChartSeries, chartData, movedCursor, seriesWithRest } from "./chart-data.ts";
import { ChartTable } from "./chart-table.tsx";
import { ChartTooltip } from "./chart-tooltip.tsx";
import { drawPlot, type Plot, type PlotContent, type PlotCursor, type PlotKind } from "./plot.ts";
import { keptColors, SERIES_COLORS, seriesColor } from "./series-color.ts";
import classes from "./time-chart.module.css";
import { useColors } from "./use-colors.ts";

const text = texts("charts", chartTexts);
const HEIGHT_PX = 240;
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

interface TimeChartProps {
  readonly title: string;
  /** Epoch ms, in any order. */
  readonly atMs: readonly number[];
  /** The eight largest have a colour of their own, which they keep; of more the seven largest, and the others are added up. */
  readonly series: readonly ChartSeries[];
  readonly kind: PlotKind;
  /** How values are written, with their unit. */
  readonly format: (value: number) => string;
  /** True for what is counted: the axis has whole numbers only. */
  readonly isWhole?: boolean;
  /** Bounds of the time axis; absent: the first and the last instant. */
  readonly range?: { readonly fromMs: number; readonly toMs: number };
  /** A line above which nothing should be, such as a capacity. */
  readonly limit?: { readonly label: string; readonly values: readonly (number | null)[] };
  /** Instants with a vertical line, epoch ms, and what they are. */
  readonly marks?: { readonly label: string; readonly atMs: readonly number[] } | undefined;
}

export function TimeChart({ title, atMs, series, kind, format, isWhole = false, range, limit, marks }: TimeChartProps) {
  const { zone, label: zoneText } = useZone();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [cursor, setCursor] = useState<PlotCursor | null>(null);
  const host = useRef<HTMLDivElement>(null);
  const probe = useRef<HTMLSpanElement>(null);
  const plot = useRef<Plot | null>(null);
  /** The instant that was chosen by key: the cursor stays on it when what is shown moves on. */
  const pinnedMs = useRef<number | null>(null);
  const titleId = useId();

  const chosen = useMemo(() => seriesWithRest(series, SERIES_COLORS, text("others")), [series]);
  const [keptPositions, setPositions] = useState<ReadonlyMap<string, number>>(new Map());
  const positions = keptColors(
    keptPositions,
    chosen.map(({ id }) => id),
  );
  if (positions !== keptPositions) setPositions(positions);
  const colored = useMemo(
    () => chosen.map((one) => ({ ...one, color: one.color ?? seriesColor(positions.get(one.id) ?? 0) })),
    [chosen, positions],
  );
  const shown = colored.filter(({ id }) => !hidden.has(id));
  const shownIds = JSON.stringify(shown.map(({ id }) => id));
  const content = useMemo((): PlotContent => {
    const drawn = colored.filter(({ id }) => !hidden.has(id));
    const limits = limit === undefined ? [] : [{ id: "limit", label: limit.label, values: limit.values }];
    return {
      data: chartData(atMs, drawn, kind !== "line"),
      limit: chartData(atMs, limits, false).values[0] ?? null,
      zone,
      range: range ?? null,
      marks: marks?.atMs ?? [],
      isWhole,
      format,
    };
  }, [atMs, colored, hidden, kind, limit, zone, range, marks, isWhole, format]);
  const latest = useRef(content);
  const { data } = content;
  const colors = useColors(probe, ["var(--text-muted)", "var(--line)", ...shown.map(({ color }) => color)]);
  const hasLimit = content.limit !== null;
  const isEmpty = data.atMs.length === 0;

  // before the effect that draws a new plot, so that it draws what is to be shown now
  useEffect(() => {
    latest.current = content;
    plot.current?.show(content);
    pointAt(plot.current, content, pinnedMs.current);
  }, [content]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: other series, a limit or first figures are another plot
  useEffect(() => {
    const element = host.current;
    if (colors === null || element === null) return;
    const [textColor = "", line = "", ...ofSeries] = colors;
    const look = { kind, colors: { series: ofSeries, text: textColor, line }, font: FONT, heightPx: HEIGHT_PX };
    const drawn = drawPlot(element, look, latest.current, element.clientWidth, setCursor);
    plot.current = drawn;
    pointAt(drawn, latest.current, pinnedMs.current);
    const size = new ResizeObserver(() => {
      if (element.clientWidth > 0) drawn.resize(element.clientWidth);
    });
    size.observe(element);
    return () => {
      size.disconnect();
      drawn.destroy();
      plot.current = null;
      setCursor(null);
    };
  }, [colors, kind, shownIds, hasLimit, isEmpty]);

  const toggle = (id: string): void =>
    setHidden((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  const at = cursor?.at ?? null;
  const said = at === null ? text("cursorNone") : spoken(content, shown, at);
  return (
    <figure className={classes["chart"]}>
      <figcaption className={classes["caption"]}>
        <span id={titleId} className={classes["title"]}>
          {title}
        </span>
        <span className={classes["zone"]}>{zoneText}</span>
      </figcaption>
      {isEmpty ? (
        <p className={classes["empty"]}>{text("noData")}</p>
      ) : (
        <div
          className={classes["plot"]}
          role="slider"
          tabIndex={0}
          aria-label={text("cursorHint", { title })}
          aria-valuemin={0}
          aria-valuemax={data.atMs.length - 1}
          aria-valuenow={at ?? data.atMs.length - 1}
          aria-valuetext={said}
          onKeyDown={(event) => {
            const moved = movedCursor(event.key, at, data.atMs.length);
            if (moved === undefined) return;
            event.preventDefault();
            pinnedMs.current = moved === null ? null : (data.atMs[moved] ?? null);
            plot.current?.point(moved);
          }}
          onPointerMove={() => {
            pinnedMs.current = null;
          }}
          onBlur={() => {
            pinnedMs.current = null;
            plot.current?.point(null);
          }}
        >
          <div ref={host} className={classes["host"]} />
          {cursor === null ? null : <ChartTooltip content={content} series={shown} cursor={cursor} />}
        </div>
      )}
      <span ref={probe} className={classes["probe"]} aria-hidden="true" />
      {colored.length < 2 && limit === undefined && marks === undefined ? null : (
        <ul className={classes["legend"]}>
          {colored.map(({ id, label, color }) => (
            <li key={id}>
              <button
                type="button"
                aria-pressed={!hidden.has(id)}
                title={text("shown", { label })}
                onClick={() => toggle(id)}
              >
                <span className={classes["swatch"]} style={{ background: color }} />
                {label}
              </button>
            </li>
          ))}
          {limit === undefined ? null : (
            <li>
              <span className={classes["dash"]} />
              {limit.label}
            </li>
          )}
          {marks === undefined || marks.atMs.length === 0 ? null : (
            <li>
              <span className={classes["mark"]} />
              {marks.label}
            </li>
          )}
        </ul>
      )}
      <ChartTable content={content} series={shown} titleId={titleId} />
    </figure>
  );
}

/** Puts the cursor on an instant, where it is still shown. */
function pointAt(plot: Plot | null, { data }: PlotContent, epochMs: number | null): void {
  if (epochMs === null) return;
  const at = data.atMs.indexOf(epochMs);
  plot?.point(at === -1 ? null : at);
}

/** The values at an instant as one sentence, for those who hear it. */
function spoken(
  { data, zone, format }: PlotContent,
  series: readonly { readonly label: string }[],
  at: number,
): string {
  const values = series.map(({ label }, which) => {
    const value = data.values[which]?.[at] ?? null;
    return text("value", { label, value: value === null ? text("unknown") : format(value) });
  });
  return text("cursorAt", { instant: formatInstant(zone, data.atMs[at] ?? null), values: values.join(", ") });
}

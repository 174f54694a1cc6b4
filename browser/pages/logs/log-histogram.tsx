import { type KeyboardEvent, type PointerEvent, useId, useMemo, useState } from "react";
import type { UsageLogFacets } from "../../../shared/schema/log-facets.ts";
import { logCountsTexts } from "../../messages/en/log-counts.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, formatShortDay, formatTimeOfDay } from "../../time/instants.ts";
import { useZone } from "../../time/zone-context.tsx";
import { formatCount, formatShortCount } from "../../ui/format.ts";
import { type Bar, type BarChoice, barAt, barsOf, movedChoice, windowOfBars } from "./histogram.ts";
import classes from "./log-histogram.module.css";

const text = texts("log-counts", logCountsTexts);
/** From below to above. */
const PARTS = ["served", "left", "refused", "failed"] as const;
const SECONDS_UNDER_MS = 60_000;

interface HistogramProps {
  readonly counted: UsageLogFacets;
  /** The counts are of a query before. */
  readonly isOld: boolean;
  readonly onWindow: (window: { readonly from_ms: number; readonly to_ms: number }) => void;
}

/** Requests per bucket of time; a window of it is chosen by dragging, or by keys (WAI-ARIA: a slider over the buckets). */
export function LogHistogram({ counted, isOld, onWindow }: HistogramProps) {
  const { zone } = useZone();
  const hintId = useId();
  const bars = useMemo(() => barsOf(counted), [counted]);
  const [choice, setChoice] = useState<BarChoice | null>(null);
  const [isDragging, setDragging] = useState(false);
  const [hovered, setHovered] = useState<number | null>(null);
  const most = Math.max(1, ...bars.map(({ requests }) => requests));
  const sums = PARTS.map((part) => ({ part, sum: bars.reduce((all, bar) => all + bar[part], 0) }));
  const last = bars.length - 1;
  const at = Math.min(choice?.at ?? last, last);

  const apply = (chosen: BarChoice): void => {
    const window = windowOfBars(bars, chosen);
    setChoice(null);
    if (window !== null) onWindow(window);
  };
  const pointed = (event: PointerEvent<HTMLElement>): number => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return barAt(bars.length, width === 0 ? 0 : (event.clientX - left) / width);
  };
  const onDown = (event: PointerEvent<HTMLElement>): void => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const one = pointed(event);
    setDragging(true);
    setChoice({ anchor: one, at: one });
  };
  const onMove = (event: PointerEvent<HTMLElement>): void => {
    const one = pointed(event);
    setHovered(one);
    if (isDragging) setChoice((before) => ({ anchor: before?.anchor ?? one, at: one }));
  };
  const onUp = (event: PointerEvent<HTMLElement>): void => {
    if (!isDragging) return;
    setDragging(false);
    const one = pointed(event);
    apply({ anchor: choice?.anchor ?? one, at: one });
  };
  const stop = (): void => {
    setDragging(false);
    setChoice(null);
  };
  const onKey = (event: KeyboardEvent): void => {
    const moved = movedChoice(choice ?? { anchor: at, at }, event, bars.length);
    if (moved !== null) setChoice(moved);
    else if (event.key === "Enter") apply(choice ?? { anchor: at, at });
    else if (event.key === "Escape" && choice !== null) stop();
    else return;
    event.preventDefault();
  };
  const shown = bars[hovered ?? at];
  const bucketText = (bar: Bar): string =>
    text("bucketAt", {
      from: formatInstant(zone, bar.fromMs, precisionOf(bar)),
      to: formatTimeOfDay(zone, bar.beforeMs, precisionOf(bar)),
      requests: bar.requests,
      refused: formatCount(bar.refused),
      failed: formatCount(bar.failed),
    });
  const chosen = choice === null || choice.anchor === choice.at ? null : windowOfBars(bars, choice);
  const chosenText =
    chosen === null
      ? null
      : text("selection", {
          from: formatInstant(zone, chosen.from_ms, "second"),
          to: formatInstant(zone, chosen.to_ms + 1, "second"),
        });
  const [low, high] =
    choice === null ? [0, -1] : [Math.min(choice.anchor, choice.at), Math.max(choice.anchor, choice.at)];
  return (
    <figure className={classes["histogram"]} data-old={isOld || undefined}>
      <figcaption className={classes["caption"]}>
        <ul className={classes["legend"]}>
          {sums.map(({ part, sum }) => (
            <li key={part}>
              <span className={classes["swatch"]} data-part={part} />
              {text("legend", { name: text(part), count: formatCount(sum) })}
            </li>
          ))}
        </ul>
        <span>
          {chosenText ??
            (hovered !== null && shown !== undefined
              ? bucketText(shown)
              : text(sums.every(({ sum }) => sum === 0) ? "chartEmpty" : "chartHint"))}
        </span>
      </figcaption>
      <div className={classes["frame"]}>
        <span className={classes["most"]}>{formatShortCount(most)}</span>
        <div
          className={classes["plot"]}
          role="slider"
          tabIndex={0}
          aria-label={text("chart")}
          aria-describedby={hintId}
          aria-valuemin={0}
          aria-valuemax={Math.max(0, last)}
          aria-valuenow={Math.max(0, at)}
          aria-valuetext={chosenText ?? (bars[at] === undefined ? "" : bucketText(bars[at]))}
          onPointerDown={onDown}
          onPointerMove={onMove}
          onPointerUp={onUp}
          onPointerCancel={stop}
          onPointerLeave={() => setHovered(null)}
          onKeyDown={onKey}
          onBlur={stop}
        >
          <svg viewBox={`0 0 ${Math.max(1, bars.length)} 100`} preserveAspectRatio="none" aria-hidden="true">
            {high >= low && <rect className={classes["chosen"]} x={low} y={0} width={high - low + 1} height={100} />}
            {bars.map((bar, index) => (
              <StackedBar key={bar.fromMs} bar={bar} index={index} most={most} />
            ))}
          </svg>
        </div>
        <div className={classes["axis"]} aria-hidden="true">
          {[bars[0], bars[Math.floor(last / 2)]].map(
            (bar, index) =>
              bar !== undefined && <span key={index === 0 ? "first" : "middle"}>{axisText(zone, bar.fromMs)}</span>,
          )}
          {bars[last] !== undefined && <span>{axisText(zone, bars[last].beforeMs)}</span>}
        </div>
        <p id={hintId} className={classes["hidden"]}>
          {text("chartKeys")}
        </p>
      </div>
    </figure>
  );
}

function StackedBar({ bar, index, most }: { readonly bar: Bar; readonly index: number; readonly most: number }) {
  let below = 0;
  return PARTS.map((part) => {
    const height = (bar[part] / most) * 100;
    if (height === 0) return null;
    below += height;
    return (
      <rect
        key={part}
        className={classes["bar"]}
        data-part={part}
        x={index + 0.08}
        y={100 - below}
        width={0.84}
        height={height}
      />
    );
  });
}

function precisionOf({ fromMs, beforeMs }: Bar): "second" | "minute" {
  return beforeMs - fromMs < SECONDS_UNDER_MS ? "second" : "minute";
}

const axisText = (zone: string, epochMs: number): string =>
  `${formatShortDay(zone, epochMs)} ${formatTimeOfDay(zone, epochMs, "minute")}`;

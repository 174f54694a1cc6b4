/** Ages that stay true while a page is open. All of them share the one clock of the page. */
import { useSyncExternalStore } from "react";
import { formatAge, formatInstant, instantOf } from "./instants.ts";
import { PageClock } from "./page-clock.ts";
import { serverNowMs } from "./server-time.ts";
import { useZone } from "./zone-context.tsx";

const pageClock = new PageClock({
  now: serverNowMs,
  every: (intervalMs, tick) => {
    const timer = setInterval(tick, intervalMs);
    return () => clearInterval(timer);
  },
  isHidden: () => document.visibilityState === "hidden",
  onVisibility: (changed) => {
    document.addEventListener("visibilitychange", changed);
    return () => document.removeEventListener("visibilitychange", changed);
  },
});

/**
 * The time, epoch ms, rounded down to a multiple of `stepMs`: a component draws again only when that changes, so that a step
 * of a minute costs one drawing a minute.
 */
export function useNow(stepMs: number): number {
  const read = (): number => Math.floor(pageClock.nowMs() / stepMs) * stepMs;
  return useSyncExternalStore(pageClock.subscribe, read, read);
}

/**
 * `3 min ago`, with the full time in the zone of the page as its title. Draws again only when the text changes. A dash when
 * the time is not known.
 */
export function Age({ at }: { readonly at: number | string | null }) {
  const { zone } = useZone();
  const epochMs = typeof at === "string" ? instantOf(at) : at;
  const read = (): string => formatAge(pageClock.nowMs(), epochMs);
  const text = useSyncExternalStore(pageClock.subscribe, read, read);
  if (epochMs === null) return text;
  return (
    <time dateTime={isoOf(epochMs)} title={formatInstant(zone, epochMs)}>
      {text}
    </time>
  );
}

function isoOf(epochMs: number): string | undefined {
  const date = new Date(epochMs);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** The buckets of the histogram over the list of requests, and the window that is chosen in them. Pure. */
import type { UsageLogFacets } from "../../../shared/schema/log-facets.ts";

/** One bar. The parts add up to the requests. */
export interface Bar {
  readonly fromMs: number;
  /** Exclusive. */
  readonly beforeMs: number;
  readonly requests: number;
  readonly served: number;
  readonly refused: number;
  readonly failed: number;
  readonly left: number;
}

/** More are not drawn, whatever an answer says. */
const BARS_MAX = 200;

/** A bar for each bucket of the period, also for those without requests. */
export function barsOf({ from_ms, to_ms, bucket_ms: width, buckets }: UsageLogFacets): readonly Bar[] {
  if (!(width > 0)) return [];
  const byStart = new Map(buckets.map((bucket) => [bucket.bucket_ms, bucket]));
  const startMs = Math.floor(from_ms / width) * width;
  const lastMs = Math.max(to_ms, buckets.at(-1)?.bucket_ms ?? 0);
  const count = Math.min(BARS_MAX, Math.max(1, Math.floor((lastMs - startMs) / width) + 1));
  return Array.from({ length: count }, (_, at) => {
    const fromMs = startMs + at * width;
    const bucket = byStart.get(fromMs);
    const {
      requests = 0,
      refused_requests: refused = 0,
      failed_requests: failed = 0,
      left_requests: left = 0,
    } = bucket ?? {};
    const served = Math.max(0, requests - refused - failed - left);
    return { fromMs, beforeMs: fromMs + width, requests, served, refused, failed, left };
  });
}

/** Positions of the bars at both ends of a choice, in any order. */
export interface BarChoice {
  readonly anchor: number;
  readonly at: number;
}

/** The window of a choice, both ends inclusive; null where there are no such bars. */
export function windowOfBars(
  bars: readonly Bar[],
  { anchor, at }: BarChoice,
): { readonly from_ms: number; readonly to_ms: number } | null {
  const [first, last] = [bars[Math.min(anchor, at)], bars[Math.max(anchor, at)]];
  return first === undefined || last === undefined ? null : { from_ms: first.fromMs, to_ms: last.beforeMs - 1 };
}

/** Position of the bar at a fraction of the chart's width. */
export function barAt(count: number, fraction: number): number {
  return Math.min(count - 1, Math.max(0, Math.floor(fraction * count)));
}

const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
const ENDS: Readonly<Record<string, "first" | "last">> = { Home: "first", End: "last" };

/** The choice after a key; null: the key does not move it. With Shift the other end stays. */
export function movedChoice(
  choice: BarChoice,
  { key, shiftKey }: { readonly key: string; readonly shiftKey: boolean },
  count: number,
): BarChoice | null {
  const step = Object.hasOwn(STEPS, key) ? STEPS[key] : undefined;
  const end = Object.hasOwn(ENDS, key) ? ENDS[key] : undefined;
  if (step === undefined && end === undefined) return null;
  const wanted = end === "first" ? 0 : end === "last" ? count - 1 : choice.at + (step ?? 0);
  const at = Math.min(count - 1, Math.max(0, wanted));
  return { anchor: shiftKey ? choice.anchor : at, at };
}

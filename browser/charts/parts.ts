/** Parts of a whole on a bar: budgets and slots. Pure; every length is a fraction of the bar, 0 to 1. */
import { drawnPart } from "./numbers.ts";

/** One part on the bar. */
interface BarPart<T> {
  readonly of: T;
  readonly value: number;
  readonly from: number;
  readonly length: number;
}

/** A bar that is as long as its parts or its cap, whichever is more. */
interface Bar<T> {
  /** In the order in which they were given; parts of nothing are left out. */
  readonly parts: readonly BarPart<T>[];
  /** What the cap leaves; `length` 0 when nothing is left. */
  readonly left: { readonly value: number; readonly from: number; readonly length: number };
  /** Where the cap lies on the bar: 1, less when the parts pass it, null without a cap. */
  readonly capAt: number | null;
  /** What the parts are beyond the cap. */
  readonly beyond: number;
}

/** Lays parts on a bar. A cap of null: none, the bar is as long as its parts. */
export function barOf<T>(parts: readonly T[], amountOf: (part: T) => number, cap: number | null): Bar<T> {
  const shown = parts.map((part) => ({ of: part, value: drawnPart(amountOf(part)) })).filter(({ value }) => value > 0);
  const sum = shown.reduce((total, { value }) => total + value, 0);
  const limit = cap === null ? null : drawnPart(cap);
  const whole = Math.max(sum, limit ?? 0);
  const fraction = (value: number): number => (whole === 0 ? 0 : Math.min(1, value / whole));
  let before = 0;
  const laid = shown.map(({ of, value }): BarPart<T> => {
    const from = fraction(before);
    before += value;
    return { of, value, from, length: fraction(before) - from };
  });
  const left = Math.max(0, (limit ?? 0) - sum);
  const end = fraction(sum);
  return {
    parts: laid,
    left: { value: left, from: end, length: left === 0 ? 0 : 1 - end },
    capAt: limit === null ? null : whole === 0 ? 1 : limit / whole,
    beyond: limit === null ? 0 : Math.max(0, sum - limit),
  };
}

/** The largest entries, the rest added up as one more; the order stays. Nothing is lost: the sum is the same. */
export function largestAndRest<T>(
  entries: readonly T[],
  amountOf: (entry: T) => number,
  most: number,
  restOf: (rest: readonly T[]) => T,
): readonly T[] {
  if (entries.length <= most) return entries;
  const byValue = entries.map((entry, at) => ({ at, value: drawnPart(amountOf(entry)) }));
  byValue.sort((a, b) => b.value - a.value || a.at - b.at);
  const kept = new Set(byValue.slice(0, Math.max(0, most - 1)).map(({ at }) => at));
  return [...entries.filter((_, at) => kept.has(at)), restOf(entries.filter((_, at) => !kept.has(at)))];
}

/**
 * What charts take for a number. Values come from records that upstreams and admins have a part in, so each one is checked
 * here before it becomes a length: sums of what passes are finite (docs/rules/console-figures.md#charts).
 */

/** Larger amounts are drawn as this: 2^53 - 1. */
const SHOWN_MAX = Number.MAX_SAFE_INTEGER;

/** The value as it is drawn: null when it is not known (null, undefined, NaN, infinite), else within ±(2^53 - 1). */
export function drawn(value: number | null | undefined): number | null {
  if (typeof value !== "number" || !Number.isFinite(value)) return null;
  return Math.min(SHOWN_MAX, Math.max(-SHOWN_MAX, value));
}

/** A part of a whole as it is drawn: not known and negative count as nothing. */
export function drawnPart(value: number | null | undefined): number {
  return Math.max(0, drawn(value) ?? 0);
}

/** A coordinate for the text of a path: two decimals, without an exponent. */
export function coordinate(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/**
 * The figures of a chart over time, ready to be drawn: cleaned, in order, stacked where parts make a whole, and the values at
 * which its axis has marks. Pure (docs/rules/console-figures.md#charts).
 */
import { isInstant } from "../time/instants.ts";
import { drawn, drawnPart } from "./numbers.ts";
import { largestAndRest } from "./parts.ts";
import { REST_ID } from "./series-color.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const AXIS_LEAST_PX = 55;
/** Of a digit of the axis, and a little more. */
const CHARACTER_PX = 7;

/** One line, area or set of bars. */
export interface ChartSeries {
  readonly id: string;
  readonly label: string;
  /** A colour with a meaning of its own; absent: the next of the series. */
  readonly color?: string;
  /** One value for each instant of the chart; null: not known. */
  readonly values: readonly (number | null)[];
}

/** Cleaned figures; all lists have one entry for each instant. */
export interface ChartData {
  /** Ascending, each instant once, epoch ms. */
  readonly atMs: readonly number[];
  /** What each series has there, in the order of the series. */
  readonly values: readonly (readonly (number | null)[])[];
  /** Where each series ends on the value axis: its value, or in a stack the sum up to and with it. */
  readonly tops: readonly (readonly (number | null)[])[];
  /** The largest of `tops`; 0 when there is none. */
  readonly peak: number;
}

/**
 * Sorts instants and drops invalid ones; if one is given twice, the last one counts. In a stack
 * (`isStacked`) negative parts count as 0, and a part that is not known counts as 0 beside one that is.
 */
export function chartData(atMs: readonly number[], series: readonly ChartSeries[], isStacked: boolean): ChartData {
  const indexes = new Map<number, number>();
  for (const [index, at] of atMs.entries()) if (isInstant(at)) indexes.set(at, index);
  const order = [...indexes].sort(([a], [b]) => a - b);
  const values = series.map((one) => order.map(([, index]) => drawn(one.values[index])));
  const tops = isStacked ? stacked(values, order.length) : values;
  let peak = 0;
  for (const line of tops) for (const top of line) peak = Math.max(peak, top ?? 0);
  return { atMs: order.map(([at]) => at), values, tops, peak };
}

function stacked(
  values: readonly (readonly (number | null)[])[],
  length: number,
): readonly (readonly (number | null)[])[] {
  const sums: number[] = Array.from({ length }, () => 0);
  const isKnown = Array.from({ length }, (_, at) => values.some((line) => (line[at] ?? null) !== null));
  return values.map((line) =>
    sums.map((sum, at) => {
      sums[at] = sum + drawnPart(line[at]);
      return isKnown[at] === true ? (sums[at] ?? null) : null;
    }),
  );
}

/** As many series as have a colour: the largest by their sums, the rest added up as one. */
export function seriesWithRest(
  series: readonly ChartSeries[],
  most: number,
  restLabel: string,
): readonly ChartSeries[] {
  const sumOf = ({ values }: ChartSeries): number => values.reduce<number>((sum, value) => sum + drawnPart(value), 0);
  return largestAndRest(series, sumOf, most, (rest) => ({ id: REST_ID, label: restLabel, values: sumsOf(rest) }));
}

/** Sums over series, instant by instant; null where none is known. */
function sumsOf(series: readonly ChartSeries[]): readonly (number | null)[] {
  const length = series.reduce((longest, { values }) => Math.max(longest, values.length), 0);
  const sums: (number | null)[] = Array.from({ length }, () => null);
  for (const { values } of series)
    for (const [at, value] of values.entries())
      if (drawn(value) !== null) sums[at] = (sums[at] ?? 0) + drawnPart(value);
  return sums;
}

/** The room that the longest of these takes at the left of a plot, in pixels. */
export function axisPx(labels: readonly string[]): number {
  return Math.max(AXIS_LEAST_PX, ...labels.map((label) => label.length * CHARACTER_PX));
}

/** Marks of a value axis: from 0, in equal round steps, up to the first one at or above `peak`; never a step of 0. */
export function valueTicks(peak: number, isWhole: boolean): readonly number[] {
  const top = drawnPart(peak);
  const step = isWhole ? Math.max(1, roundStep(top / 4)) : roundStep(top / 4);
  const count = Math.max(1, Math.ceil(top / step - 1e-9));
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}

/**
 * Bounds of a time axis, never of no width. A bar stands for a day and is drawn around its start: the axis begins half a day
 * earlier, so that the first bar is whole, and ends half a day earlier, so that the last one is at its end.
 */
export function timeBounds(
  atMs: readonly number[],
  range: { readonly fromMs: number; readonly toMs: number } | null,
  isBars: boolean,
): readonly [fromMs: number, toMs: number] {
  const [first, last] = [atMs[0] ?? 0, atMs.at(-1) ?? 0];
  const [from, to] = range === null ? [first, isBars ? last + DAY_MS : last] : [range.fromMs, range.toMs];
  const shift = isBars ? DAY_MS / 2 : 0;
  return to > from ? [from - shift, to - shift] : [from - MINUTE_MS, from + MINUTE_MS];
}

/** The first and the last position of each stretch without a gap. */
export function runsOf(line: readonly (number | null)[]): readonly (readonly [first: number, last: number])[] {
  const isKnown = (at: number): boolean => (line[at] ?? null) !== null;
  const known = [...line.keys()].filter(isKnown);
  const lasts = known.filter((at) => !isKnown(at + 1));
  return known.filter((at) => !isKnown(at - 1)).map((first, run) => [first, lasts[run] ?? first]);
}

/** The position of the instant that is nearest to another one; -1 of none. */
export function nearestTo(atMs: readonly number[], epochMs: number): number {
  let nearest = -1;
  for (const [at, one] of atMs.entries())
    if (nearest === -1 || Math.abs(one - epochMs) < Math.abs((atMs[nearest] ?? 0) - epochMs)) nearest = at;
  return nearest;
}

/** The smallest of 1, 2 and 5 times a power of ten that is at least `least`; 1 for 0. */
function roundStep(least: number): number {
  if (!(least > 1e-12)) return least > 0 ? 1e-12 : 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10) * power;
}

/** Where a key moves the cursor among `length` instants; null: no cursor. Undefined: the key is not the chart's. */
export function movedCursor(key: string, at: number | null, length: number): number | null | undefined {
  if (length === 0) return undefined;
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: -1,
    ArrowDown: -1,
    ArrowRight: 1,
    ArrowUp: 1,
    PageDown: -10,
    PageUp: 10,
  };
  if (key === "Escape") return at === null ? undefined : null;
  if (key === "Home") return 0;
  if (key === "End") return length - 1;
  const step = Object.hasOwn(steps, key) ? steps[key] : undefined;
  if (step === undefined) return undefined;
  return at === null ? length - 1 : Math.min(length - 1, Math.max(0, at + step));
}

/** Figures of several rounds, summarised by the median and the two ends. Pure. */

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** Null when there are no values. The median of an even number of values is the mean of the two in the middle. */
export function spreadOf(values: readonly number[]): Spread | null {
  const sorted = values.toSorted((a, b) => a - b);
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (min === undefined || max === undefined) return null;
  const half = sorted.length / 2;
  const [low = min, high = max] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  return { min, median: (low + high) / 2, max };
}

/** The values of one target by round. */
export type ByRound = ReadonlyMap<number, number>;

/**
 * The ratios of two targets, each within one round, in which both were measured shortly after each other: a machine that is
 * slow for a while does not change the ratio. Null when no round has both.
 */
export function ratioOf(over: ByRound, under: ByRound): Spread | null {
  const ratios = [...over].flatMap(([round, value]) => {
    const other = under.get(round);
    return other === undefined || other === 0 ? [] : [value / other];
  });
  return spreadOf(ratios);
}

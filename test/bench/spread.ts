/** Figures of several rounds as what a reader may rely on: the middle and how far the rounds lay apart. Pure. */

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** Of at least one value; null of none. The median of an even count is the mean of the two in the middle. */
export function spreadOf(values: readonly number[]): Spread | null {
  const sorted = values.toSorted((a, b) => a - b);
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (min === undefined || max === undefined) return null;
  const half = sorted.length / 2;
  const [low = min, high = max] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  return { min, median: (low + high) / 2, max };
}

/** Values of one target by round. */
export type ByRound = ReadonlyMap<number, number>;

/**
 * The ratios of two targets, each within one round, where both were measured a moment apart: what slows the whole machine
 * for a while cancels out. Null when no round has both.
 */
export function ratioOf(over: ByRound, under: ByRound): Spread | null {
  const ratios = [...over].flatMap(([round, value]) => {
    const other = under.get(round);
    return other === undefined || other === 0 ? [] : [value / other];
  });
  return spreadOf(ratios);
}

/**
 * Repeatable chance for the simulator: the same seed gives the same run on every machine.
 */

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  /** Exponentially distributed with the given mean: the gap between two arrivals of a Poisson stream. */
  gap(mean: number): number;
  /** Pareto distributed with the given mean and index, which is above 1; cut off at a hundred times the mean. */
  heavy(mean: number, index: number): number;
}

/** An xorshift32 stream; any integer is a seed. */
export function seededRandom(seed: number): Random {
  let state = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) >>> 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
  return {
    next,
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    gap: (mean) => -mean * Math.log(1 - next()),
    heavy: (mean, index) => Math.min(100 * mean, ((mean * (index - 1)) / index) * (1 - next()) ** (-1 / index)),
  };
}

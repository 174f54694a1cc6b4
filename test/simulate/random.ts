/** Repeatable random numbers for the simulator: the same seed gives the same run on every machine. */

export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  /** A number of the exponential distribution with the given mean: the time between two arrivals of a Poisson stream. */
  gap(mean: number): number;
  /**
   * A number of the Pareto distribution with the given mean and index; the index must be above 1. The result is at most a
   * hundred times the mean.
   */
  heavy(mean: number, index: number): number;
}

/** Random numbers of the xorshift32 algorithm; any integer is a seed. */
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

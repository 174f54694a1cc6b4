/** Choices that follow from a seed. */
import { type Random, seededRandom } from "../simulate/random.ts";

export interface Dice extends Random {
  /** True once in so many times. */
  once(inTimes: number): boolean;
  pick<T>(values: readonly T[]): T;
  /** Other choices that follow from the same seed, whatever is drawn here. */
  fork(name: number): Dice;
}

const SKIPPED = 8;

/** The choices of a seed. */
export function diceOf(seed: number): Dice {
  const random = seededRandom(seed);
  // the first numbers of neighbouring seeds are alike
  for (let drawn = 0; drawn < SKIPPED; drawn += 1) random.next();
  return {
    ...random,
    once: (inTimes) => random.next() < 1 / inTimes,
    pick: <T>(values: readonly T[]): T => values[random.between(0, values.length - 1)] as T,
    fork: (name) => diceOf(Math.imul(seed, 31) + name + 1),
  };
}

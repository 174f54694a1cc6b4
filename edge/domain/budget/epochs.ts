/**
 * The numbers of a cell's wallets, by which a budget object orders them: each is larger than any before it, also of an earlier
 * life of the cell. They are made of the number of the life, which is counted on the cell's disk, and a count within it; no
 * clock is asked, so a clock that was set back changes nothing (decisions §19.1).
 */

/** Numbers of one life. When they are used up the next ones are those of another life. */
const PER_LIFE = 2 ** 28;

/**
 * The first life of a cell has this number: its wallets follow on those of versions that numbered them by the clock in ms,
 * until the year 2109.
 */
export const FIRST_LIFE = 2 ** 14;

/** The last one that leaves numbers exact. */
export const LAST_LIFE = 2 ** 25 - 1;

export class Epochs {
  readonly #nextLife: () => number;
  #next = 0;
  #end = 0;

  /** `nextLife`: a number from {@link FIRST_LIFE} to {@link LAST_LIFE}, larger than any that it answered before. */
  constructor(nextLife: () => number) {
    this.#nextLife = nextLife;
  }

  /** The number of the next wallet. A life is counted only when its first number is wanted. */
  next(): number {
    if (this.#next === this.#end) {
      this.#next = this.#nextLife() * PER_LIFE;
      this.#end = this.#next + PER_LIFE;
    }
    const epoch = this.#next;
    this.#next += 1;
    return epoch;
  }
}

/**
 * The number of the life that follows on the stored one. A number that cannot be read is followed by one of the last half, which
 * no cell reaches by counting.
 */
export function lifeAfter(stored: string | null): number {
  if (stored === null) return FIRST_LIFE;
  const life = Number(stored);
  const known = Number.isSafeInteger(life) && life >= FIRST_LIFE && life < LAST_LIFE;
  return known ? life + 1 : 2 ** 24;
}

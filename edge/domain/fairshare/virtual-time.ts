/**
 * How far a competition has come: the smallest served / weight of those who wait with an admissible head (decisions §20.1).
 * Who was idle starts from there and has banked nothing. Who waits but can be granted nothing - its models full, or as many
 * slots held as it may - does not hold virtual time back: others would come back from idle with the credit of what that one
 * could not use, and starve those who used it.
 */

/** Counts how often the whole cell has been idle: what was served before the last time counts no more. */
export interface Spell {
  count: number;
}

export class VirtualTime {
  readonly #spell: Spell;
  #seen: number;
  #score = 0;

  constructor(spell: Spell) {
    this.#spell = spell;
    this.#seen = spell.count;
  }

  get score(): number {
    return this.#seen === this.#spell.count ? this.#score : 0;
  }

  /** After a dispatch. `waiting`: the smallest score of those still waiting; `granted`: that of the one granted, before its charge. */
  advance(waiting: number | undefined, granted: number): void {
    this.#score = waiting ?? Math.max(this.score, granted);
    this.#seen = this.#spell.count;
  }

  /** What one that comes back from idle counts as served, at least. */
  lifted(served: number, weight: number): number {
    return Math.max(served, this.score * weight);
  }

  /**
   * What one counts as served whose weight becomes `to`: the past stays settled, and its lead over the others is weighed with
   * the heavier of both weights. Else a new weight would starve somebody until it had held for the whole past as well.
   */
  reweighed(served: number, from: number, to: number): number {
    const lead = (served - this.score * from) / Math.max(from, to);
    return Math.max(0, (this.score + lead) * to);
  }
}

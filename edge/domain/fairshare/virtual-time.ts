/**
 * How far a competition has come: the smallest served / weight of those who wait in it, never running back (decisions
 * §20.1). Who starts begins from there and has banked nothing. It does not run back when somebody's estimate is refunded:
 * that one keeps what it was not given, and whoever starts at that moment does not get as much for nothing.
 */

/** Counts how often the whole cell has been idle: what was served before the last time counts no more. */
export interface Spell {
  count: number;
}

export class VirtualTime {
  readonly #spell: Spell;
  #seen: number;
  #score: number;

  constructor(spell: Spell, score = 0) {
    this.#spell = spell;
    this.#seen = spell.count;
    this.#score = score;
  }

  get score(): number {
    return this.#seen === this.#spell.count ? this.#score : 0;
  }

  /** After a dispatch. `waiting`: the smallest score of those still waiting; `granted`: that of the one granted, before its charge. */
  advance(waiting: number | undefined, granted: number): void {
    this.#score = Math.max(this.score, waiting ?? granted);
    this.#seen = this.#spell.count;
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

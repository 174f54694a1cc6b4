/**
 * Who competes for what, and how far each competition has come. The open line is for the slots of the cell, among all whose
 * models are not full. Behind a model that is full while somebody waits for it (a watched one) is a line of its own, with its own virtual time and its own served
 * tokens of whoever waits there: those who may only use a scarce model make progress at its pace, and would else be
 * passed for hours by nobody but them who wait there since before (decisions §20.1). A grant is charged in the open line and in the line
 * it came from; while the cell is full in every line, for then it is the same slots that all of them want.
 */
import { ServedTokens } from "./served-tokens.ts";
import { type Charge, hasRoom, type Line, type ModelState } from "./state.ts";
import { type Spell, VirtualTime } from "./virtual-time.ts";

/** A tenant or a group; its served tokens in the open line. */
export interface Competitor {
  readonly served: ServedTokens;
}

/** One line behind a model, from when the model was watched until nobody waits for it. */
interface Behind<T> {
  readonly watches: number;
  readonly time: VirtualTime;
  readonly served: Map<T, ServedTokens>;
  /** What scores here are more than their served / weight, so that they compare with those of other lines. */
  shift: number;
  /** How often the model had become full when the line caught up last. */
  fills: number;
}

/** How one stands in a line, as of {@link Lines.score} and {@link Lines.shift}. */
export interface Score {
  readonly score: number;
  readonly shift: number;
}

/** The weight of a competitor in a line. */
export type WeightIn = (line: Line) => number;

export class Lines<T extends Competitor> {
  readonly #spell: Spell;
  readonly #open: VirtualTime;
  readonly #behind = new Map<ModelState, Behind<T>>();

  constructor(spell: Spell) {
    this.#spell = spell;
    this.#open = new VirtualTime(spell);
  }

  /** Served / weight: in one line the smallest is next. */
  score(who: T, line: Line, weight: number): number {
    const served = line === null ? who.served : this.#line(line).served.get(who);
    return (served ?? who.served).tokens / weight;
  }

  /** To be added to scores of a line before they are compared with those of another. */
  shift(line: Line): number {
    return line === null ? 0 : this.#line(line).shift;
  }

  /** Comes to stand in a line, from the open one unless it was here before. */
  enter(who: T, line: Line, weight: number, at: number): void {
    if (line === null) return;
    const { served, shift } = this.#line(line);
    if (!served.has(who)) served.set(who, who.served.copy(shift * weight, at));
  }

  /**
   * An arrival for a line. Whoever has nothing waiting there starts: no banked credit. So does it in the open line when the
   * model has room, for then it is a slot of the cell that it may have.
   */
  start(who: T, line: Line, weight: number, waitsIn: (line: Line) => boolean, at: number): void {
    if (waitsIn(line)) return;
    const isFull = line !== null && !hasRoom(line);
    if (!isFull && !waitsIn(null)) who.served.start(this.#open.score * weight, at);
    if (line === null) return;
    const { served, time } = this.#line(line);
    const floor = time.score * weight;
    if (isFull && !served.has(who)) served.set(who, ServedTokens.beginning(floor, at));
    this.enter(who, line, weight, at);
    served.get(who)?.start(floor, at);
  }

  /** Comes back from where nothing could be granted to it, with the credit of one request at most. */
  comeBack(who: T, line: Line, weight: number, requestTokens: number, at: number): void {
    const served = line === null ? who.served : this.#line(line).served.get(who);
    const { score } = line === null ? this.#open : this.#line(line).time;
    const floor = score * weight - requestTokens;
    if (served !== undefined && served.tokens < floor) served.start(floor, at);
  }

  charge(who: T, charge: Charge): void {
    who.served.charge(charge.tokens);
    for (const [model, { served }] of this.#current())
      if (charge.everywhere || model === charge.line) served.get(who)?.charge(charge.tokens);
  }

  /** Actual less estimate of a request, whole: whoever is charged too much for a while is behind by that, and catches up. */
  correct(who: T, charge: Charge, tokens: number): void {
    who.served.correct(tokens, charge.at);
    for (const [model, { served }] of this.#current()) {
      const own = served.get(who);
      if (charge.everywhere || model === charge.line || own?.holds(charge.at) === true) own?.correct(tokens, charge.at);
    }
  }

  /** After a grant in `line` to one that stood as told; `lowest`: the smallest score of those who still stand in a line. */
  advance(line: Line, granted: Score, lowest: (line: Line) => number | undefined): void {
    this.#open.advance(lowest(null), granted.score + granted.shift);
    if (line?.watched === true) this.#line(line).time.advance(lowest(line), granted.score);
  }

  /** True when the model of a line has been full since the line caught up with the open one last. */
  lags(model: ModelState): boolean {
    return this.#line(model).fills !== model.fills;
  }

  /**
   * A full model has room again: its line could not keep pace with the open one, and comes back behind it by one request at
   * most. `lowest`: the smallest score there; `request`: cost / weight of who has it.
   */
  catchUp(model: ModelState, lowest: number, request: number): void {
    const behind = this.#line(model);
    behind.fills = model.fills;
    behind.shift = Math.max(behind.shift, this.#open.score - request - lowest);
  }

  /** New weights; the past stays settled. The competitor stands in no order that depends on them. */
  reweigh(who: T, from: WeightIn, to: WeightIn, at: number): void {
    const change = (served: ServedTokens | undefined, time: VirtualTime, line: Line): void => {
      if (served === undefined || from(line) === to(line)) return;
      const tokens = time.reweighed(served.tokens, from(line), to(line));
      served.rebase(tokens, tokens - time.score * to(line), at);
    };
    change(who.served, this.#open, null);
    for (const [model, { served, time }] of this.#current()) change(served.get(who), time, model);
  }

  /** Takes over a competitor from other lines, with its lead over the others there. */
  receive(who: T, from: Lines<T>, weight: WeightIn, at: number): void {
    const change = (served: ServedTokens, there: VirtualTime, here: VirtualTime, line: Line): void => {
      const lead = Math.max(0, served.tokens - there.score * weight(line));
      served.rebase(here.score * weight(line) + lead, lead, at);
    };
    change(who.served, from.#open, this.#open, null);
    for (const [model, { served, time }] of from.#current()) {
      const own = served.get(who);
      if (own === undefined) continue;
      const here = this.#line(model);
      change(own, time, here.time, model);
      served.delete(who);
      here.served.set(who, own);
    }
  }

  /** True when forgetting the competitor would change nothing: it would start where it is anyway. */
  forgives(who: T, weight: WeightIn): boolean {
    if (who.served.tokens > this.#open.score * weight(null)) return false;
    return [...this.#current()].every(
      ([model, { served, time }]) => (served.get(who)?.tokens ?? 0) <= time.score * weight(model),
    );
  }

  forget(who: T): void {
    for (const { served } of this.#behind.values()) served.delete(who);
  }

  #line(model: ModelState): Behind<T> {
    const known = this.#behind.get(model);
    if (known?.watches === model.watches) return known;
    const time = new VirtualTime(this.#spell, this.#open.score);
    const line: Behind<T> = { watches: model.watches, time, served: new Map(), shift: 0, fills: -1 };
    this.#behind.set(model, line);
    return line;
  }

  /** Lines behind models that are watched still; the others are let go of. */
  #current(): ReadonlyMap<ModelState, Behind<T>> {
    for (const [model, { watches }] of this.#behind)
      if (!model.watched || watches !== model.watches) this.#behind.delete(model);
    return this.#behind;
  }
}

/**
 * Who competes for what, and how far each competition has come. The open line is for the slots of the cell, among all
 * whose models are not full. Behind a model that is full while somebody waits for it (a watched one) is a line of its
 * own, with its own virtual time and its own scores of whoever waits there: those who may only use a scarce model make
 * progress at its pace, and would else be passed for hours by nobody but them who wait there since before
 * (docs/rules/fairshare.md#served-score). A grant is charged in the open line and in the line it came from; while the
 * cell is full in every line, for then it is the same slots that all of them want.
 */
import { ServedScore } from "./served-score.ts";
import { type Bottleneck, type Charge, hasRoom, type ModelState } from "./state.ts";
import { type BusyPeriod, VirtualTime } from "./virtual-time.ts";

/** A tenant or a group; its score in the open line. */
interface Competitor {
  readonly served: ServedScore;
}

/** One line behind a model, from when the model was watched until nobody waits for it. */
interface Behind<T> {
  readonly watches: number;
  readonly time: VirtualTime;
  readonly served: Map<T, ServedScore>;
  /** To be added to scores here before they are compared with those of other lines. */
  shift: number;
  /** How often the model had become full when the line caught up last. */
  fills: number;
}

/** How one stands in a line without estimates in flight, as of {@link BottleneckScores.settled} and {@link BottleneckScores.shift}. */
export interface Score {
  readonly settled: number;
  readonly shift: number;
}

export class BottleneckScores<T extends Competitor> {
  readonly #busyPeriod: BusyPeriod;
  readonly #open: VirtualTime;
  readonly #behind = new Map<ModelState, Behind<T>>();

  constructor(busyPeriod: BusyPeriod) {
    this.#busyPeriod = busyPeriod;
    this.#open = new VirtualTime(busyPeriod);
  }

  /** In one line the smallest is next. */
  score(who: T, line: Bottleneck): number {
    return this.#served(who, line).score;
  }

  /** The same without estimates in flight; for {@link BottleneckScores.advance} and {@link BottleneckScores.catchUp}. */
  settled(who: T, line: Bottleneck): number {
    return this.#served(who, line).settled;
  }

  /** To be added to scores of a line before they are compared with those of another. */
  shift(line: Bottleneck): number {
    return line === null ? 0 : this.#line(line).shift;
  }

  /** Comes to stand in a line, from the open one unless it was here before. */
  enter(who: T, line: Bottleneck, at: number): void {
    if (line === null) return;
    const { served, shift } = this.#line(line);
    if (!served.has(who)) served.set(who, who.served.copy(shift, at));
  }

  /**
   * An arrival for a line. Whoever has nothing waiting there starts: no banked credit. So does it in the open line when the
   * model has room, for then it is a slot of the cell that it may have.
   */
  start(who: T, line: Bottleneck, waitsIn: (line: Bottleneck) => boolean, at: number): void {
    if (waitsIn(line)) return;
    const isFull = line !== null && !hasRoom(line);
    if (!isFull && !waitsIn(null)) who.served.start(this.#open.score, at);
    if (line === null) return;
    const { served, time } = this.#line(line);
    if (isFull && !served.has(who)) served.set(who, ServedScore.beginning(time.score, at));
    this.enter(who, line, at);
    served.get(who)?.start(time.score, at);
  }

  /** Comes back from where nothing could be granted to it, with a credit of one request at most: `request`, tokens / weight. */
  resume(who: T, line: Bottleneck, request: number, at: number): void {
    const served = line === null ? who.served : this.#line(line).served.get(who);
    const { score } = line === null ? this.#open : this.#line(line).time;
    const floor = score - request;
    if (served !== undefined && served.score < floor) served.start(floor, at);
  }

  /** A grant to a competitor of this weight. */
  charge(who: T, charge: Charge, weight: number): void {
    const estimate = charge.tokens / weight;
    who.served.charge(estimate);
    for (const [model, { served }] of this.#current())
      if (charge.everywhere || model === charge.bottleneck) served.get(who)?.charge(estimate);
  }

  /**
   * `tokens`: actual less estimate of a request, whole: whoever is charged too much for a while is behind by that, and
   * catches up. `weight`: that of its charge.
   */
  correct(who: T, charge: Charge, weight: number, tokens: number): void {
    const [estimate, change] = [charge.tokens / weight, tokens / weight];
    who.served.correct(estimate, change, charge.at);
    for (const [model, { served }] of this.#current()) {
      const own = served.get(who);
      if (charge.everywhere || model === charge.bottleneck || own?.holds(charge.at) === true)
        own?.correct(estimate, change, charge.at);
    }
  }

  /** After a grant in `line` to one that stood as told; `lowest`: the settled score of the first who still stands in a line. */
  advance(line: Bottleneck, granted: Score, lowest: (line: Bottleneck) => number | undefined): void {
    this.#open.advance(lowest(null), granted.settled + granted.shift);
    if (line?.isBottleneck === true) this.#line(line).time.advance(lowest(line), granted.settled);
  }

  /** True when the model of a line has been full since the line caught up with the open one last. */
  lags(model: ModelState): boolean {
    return this.#line(model).fills !== model.timesFull;
  }

  /**
   * A full model has room again: its line could not keep pace with the open one, and comes back behind it by one request at
   * most. `lowest`: the settled score of the first there; `request`: its cost / weight.
   */
  catchUp(model: ModelState, lowest: number, request: number): void {
    const behind = this.#line(model);
    behind.fills = model.timesFull;
    behind.shift = Math.max(behind.shift, this.#open.score - request - lowest);
  }

  /** A new weight; the past stays settled. The competitor stands in no order that depends on it. */
  reweigh(who: T, from: number, to: number, at: number): void {
    const change = (served: ServedScore | undefined, time: VirtualTime): void => {
      if (served === undefined || from === to) return;
      const score = time.reweighed(served.score, from, to);
      served.rebase(score, score - time.score, at);
    };
    change(who.served, this.#open);
    for (const { served, time } of this.#current().values()) change(served.get(who), time);
  }

  /** Takes over a competitor from other lines, with its lead over the others there. */
  transferFrom(who: T, from: BottleneckScores<T>, at: number): void {
    const change = (served: ServedScore, there: VirtualTime, here: VirtualTime): void => {
      const lead = Math.max(0, served.score - there.score);
      served.rebase(here.score + lead, lead, at);
    };
    change(who.served, from.#open, this.#open);
    for (const [model, { served, time }] of from.#current()) {
      const own = served.get(who);
      if (own === undefined) continue;
      const here = this.#line(model);
      change(own, time, here.time);
      served.delete(who);
      here.served.set(who, own);
    }
  }

  /** True when forgetting the competitor would change nothing: it would start where it is anyway. */
  canForget(who: T): boolean {
    if (who.served.score > this.#open.score) return false;
    return [...this.#current().values()].every(({ served, time }) => (served.get(who)?.score ?? 0) <= time.score);
  }

  forget(who: T): void {
    for (const { served } of this.#behind.values()) served.delete(who);
  }

  #served(who: T, line: Bottleneck): ServedScore {
    return (line === null ? undefined : this.#line(line).served.get(who)) ?? who.served;
  }

  #line(model: ModelState): Behind<T> {
    const known = this.#behind.get(model);
    if (known?.watches === model.bottleneckPeriods) return known;
    const time = new VirtualTime(this.#busyPeriod, this.#open.score);
    const line: Behind<T> = { watches: model.bottleneckPeriods, time, served: new Map(), shift: 0, fills: -1 };
    this.#behind.set(model, line);
    return line;
  }

  /** Lines behind models that are watched still; the others are let go of. */
  #current(): ReadonlyMap<ModelState, Behind<T>> {
    for (const [model, { watches }] of this.#behind)
      if (!model.isBottleneck || watches !== model.bottleneckPeriods) this.#behind.delete(model);
    return this.#behind;
  }
}

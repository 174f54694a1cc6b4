/**
 * The scores of competitors, and the virtual time, by bottleneck (docs/rules/fairshare.md#served-score). The shared bottleneck
 * is the slots of the Cell, for all requests whose models are not full. A model that is full while requests wait for it is a
 * separate bottleneck, with its own virtual time and its own scores of the competitors that wait there. Reason: competitors
 * that may only use a scarce model progress at its pace, so they are compared with one another; with one common virtual time,
 * later arrivals at that model would wait for hours behind earlier ones. A grant is charged at the shared bottleneck and at the
 * one it came from; while the Cell is full it is charged at every bottleneck, because then all compete for the same slots.
 */
import { ServedScore } from "./served-score.ts";
import { type Bottleneck, type Charge, hasRoom, type ModelState } from "./state.ts";
import { type BusyPeriod, VirtualTime } from "./virtual-time.ts";

/** A tenant or a group, with its score at the shared bottleneck. */
interface Competitor {
  readonly served: ServedScore;
}

/** The state of one model as a bottleneck, from when it became one until no request waits for it. */
interface Behind<T> {
  readonly bottleneckPeriods: number;
  readonly time: VirtualTime;
  readonly served: Map<T, ServedScore>;
  /** Added to scores of this bottleneck before they are compared with scores of others. */
  shift: number;
  /** How often the model had become full when this bottleneck last caught up. */
  timesFull: number;
}

/**
 * The score of a competitor at a bottleneck without estimates in flight, as {@link BottleneckScores.settled} and {@link
 * BottleneckScores.shift} return it.
 */
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

  /** The score; at one bottleneck the smallest is next. */
  score(who: T, bottleneck: Bottleneck): number {
    return this.#served(who, bottleneck).score;
  }

  /** The score without estimates in flight; for {@link BottleneckScores.advance} and {@link BottleneckScores.catchUp}. */
  settled(who: T, bottleneck: Bottleneck): number {
    return this.#served(who, bottleneck).settled;
  }

  /** Added to scores of a bottleneck before they are compared with scores of another. */
  shift(bottleneck: Bottleneck): number {
    return bottleneck === null ? 0 : this.#scoresOf(bottleneck).shift;
  }

  /** Starts to compete at a bottleneck, with the score of the shared one unless it has competed here before. */
  enter(who: T, bottleneck: Bottleneck, at: number): void {
    if (bottleneck === null) return;
    const { served, shift } = this.#scoresOf(bottleneck);
    if (!served.has(who)) served.set(who, who.served.copy(shift, at));
  }

  /**
   * An arrival at a bottleneck. A competitor without waiting requests there starts without banked credit. It also starts at
   * the shared bottleneck when the model has room, because then it may take a slot of the Cell.
   */
  start(who: T, bottleneck: Bottleneck, waitsIn: (bottleneck: Bottleneck) => boolean, at: number): void {
    if (waitsIn(bottleneck)) return;
    const isFull = bottleneck !== null && !hasRoom(bottleneck);
    if (!isFull && !waitsIn(null)) who.served.start(this.#open.score, at);
    if (bottleneck === null) return;
    const { served, time } = this.#scoresOf(bottleneck);
    if (isFull && !served.has(who)) served.set(who, ServedScore.beginning(time.score, at));
    this.enter(who, bottleneck, at);
    served.get(who)?.start(time.score, at);
  }

  /**
   * Competes again after a time in which nothing could be granted to it, with a credit of at most one request: `request`,
   * tokens / weight.
   */
  resume(who: T, bottleneck: Bottleneck, request: number, at: number): void {
    const served = bottleneck === null ? who.served : this.#scoresOf(bottleneck).served.get(who);
    const { score } = bottleneck === null ? this.#open : this.#scoresOf(bottleneck).time;
    const floor = score - request;
    if (served !== undefined && served.score < floor) served.start(floor, at);
  }

  /** Charges a grant to a competitor of this weight. */
  charge(who: T, charge: Charge, weight: number): void {
    const estimate = charge.tokens / weight;
    who.served.charge(estimate);
    for (const [model, { served }] of this.#current())
      if (charge.everywhere || model === charge.bottleneck) served.get(who)?.charge(estimate);
  }

  /**
   * Corrects a charge. `tokens`: actual use less the estimate of a request, not divided by weight; a competitor that was
   * charged too much for a while is behind by that, and catches up. `weight`: the weight of the charge.
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

  /**
   * Moves virtual time on after a grant at `bottleneck`; `granted` is the score before the charge, `lowest` returns the settled
   * score of the first remaining competitor at a bottleneck.
   */
  advance(bottleneck: Bottleneck, granted: Score, lowest: (bottleneck: Bottleneck) => number | undefined): void {
    this.#open.advance(lowest(null), granted.settled + granted.shift);
    if (bottleneck?.isBottleneck === true) this.#scoresOf(bottleneck).time.advance(lowest(bottleneck), granted.settled);
  }

  /** True when the model has been full since its bottleneck last caught up with the shared one. */
  lags(model: ModelState): boolean {
    return this.#scoresOf(model).timesFull !== model.timesFull;
  }

  /**
   * A full model has room again. Its bottleneck could not keep pace with the shared one, and resumes behind it by one
   * request at most. `lowest`: the settled score of the first competitor there; `request`: its cost / weight.
   */
  catchUp(model: ModelState, lowest: number, request: number): void {
    const behind = this.#scoresOf(model);
    behind.timesFull = model.timesFull;
    behind.shift = Math.max(behind.shift, this.#open.score - request - lowest);
  }

  /** Applies a new weight; the past stays settled. The competitor must be in no order that depends on its score. */
  reweigh(who: T, from: number, to: number, at: number): void {
    const change = (served: ServedScore | undefined, time: VirtualTime): void => {
      if (served === undefined || from === to) return;
      const score = time.reweighed(served.score, from, to);
      served.rebase(score, score - time.score, at);
    };
    change(who.served, this.#open);
    for (const { served, time } of this.#current().values()) change(served.get(who), time);
  }

  /** Takes over a competitor from other scores, with its lead over the others there. */
  transferFrom(who: T, from: BottleneckScores<T>, at: number): void {
    const change = (served: ServedScore, there: VirtualTime, here: VirtualTime): void => {
      const lead = Math.max(0, served.score - there.score);
      served.rebase(here.score + lead, lead, at);
    };
    change(who.served, from.#open, this.#open);
    for (const [model, { served, time }] of from.#current()) {
      const own = served.get(who);
      if (own === undefined) continue;
      const here = this.#scoresOf(model);
      change(own, time, here.time);
      served.delete(who);
      here.served.set(who, own);
    }
  }

  /** True when forgetting the competitor would change nothing, because it would start at the same score. */
  canForget(who: T): boolean {
    if (who.served.score > this.#open.score) return false;
    return [...this.#current().values()].every(({ served, time }) => (served.get(who)?.score ?? 0) <= time.score);
  }

  forget(who: T): void {
    for (const { served } of this.#behind.values()) served.delete(who);
  }

  #served(who: T, bottleneck: Bottleneck): ServedScore {
    return (bottleneck === null ? undefined : this.#scoresOf(bottleneck).served.get(who)) ?? who.served;
  }

  #scoresOf(model: ModelState): Behind<T> {
    const known = this.#behind.get(model);
    if (known?.bottleneckPeriods === model.bottleneckPeriods) return known;
    const time = new VirtualTime(this.#busyPeriod, this.#open.score);
    const scores: Behind<T> = {
      bottleneckPeriods: model.bottleneckPeriods,
      time,
      served: new Map(),
      shift: 0,
      timesFull: -1,
    };
    this.#behind.set(model, scores);
    return scores;
  }

  /** The models that are bottlenecks still; the others are forgotten. */
  #current(): ReadonlyMap<ModelState, Behind<T>> {
    for (const [model, { bottleneckPeriods }] of this.#behind)
      if (!model.isBottleneck || bottleneckPeriods !== model.bottleneckPeriods) this.#behind.delete(model);
    return this.#behind;
  }
}

/**
 * Scores by bottleneck (docs/rules/fairshare.md#served-score) for the slow reference: the same sums, without any order
 * kept.
 */
import { reweighed } from "./reference-arithmetic.test-helper.ts";
import { ServedScore } from "./served-score.ts";

/** A model as both levels see it. */
export interface ReferenceModel {
  readonly name: string;
  admissionWeight: number;
  cap: number | null;
  isBottleneck: boolean;
  bottleneckPeriods: number;
  timesFull: number;
}

/** A tenant or a group. */
export interface ReferenceCompetitor {
  readonly id: string;
  served: ServedScore;
}

export interface ReferenceCharge {
  readonly tokens: number;
  readonly at: number;
  readonly model: ReferenceModel | null;
  readonly everywhere: boolean;
}

interface Behind {
  readonly bottleneckPeriods: number;
  time: number;
  shift: number;
  timesFull: number;
  readonly served: Map<ReferenceCompetitor, ServedScore>;
}

export class ReferenceScores {
  open = 0;
  #behind = new Map<ReferenceModel, Behind>();

  reset(): void {
    this.open = 0;
    this.#behind = new Map();
  }

  of(model: ReferenceModel): Behind {
    const known = this.#behind.get(model);
    if (known !== undefined && known.bottleneckPeriods === model.bottleneckPeriods) return known;
    const made = {
      bottleneckPeriods: model.bottleneckPeriods,
      time: this.open,
      shift: 0,
      timesFull: -1,
      served: new Map(),
    };
    this.#behind.set(model, made);
    return made;
  }

  served(who: ReferenceCompetitor, model: ReferenceModel | null): ServedScore {
    if (model === null) return who.served;
    const served = this.of(model).served.get(who);
    if (served === undefined) throw new Error(`${who.id} does not stand behind ${model.name}`);
    return served;
  }

  /** The score without estimates in flight, also of a competitor that does not compete there. */
  settled(who: ReferenceCompetitor, model: ReferenceModel | null): number {
    return ((model === null ? undefined : this.of(model).served.get(who)) ?? who.served).settled;
  }

  shift(model: ReferenceModel | null): number {
    return model === null ? 0 : this.of(model).shift;
  }

  enter(who: ReferenceCompetitor, model: ReferenceModel | null, at: number): void {
    if (model === null) return;
    const bottleneck = this.of(model);
    if (!bottleneck.served.has(who)) bottleneck.served.set(who, who.served.copy(bottleneck.shift, at));
  }

  /** `full`: the model has no room; `inOpen`: a request of it waits at the shared bottleneck. */
  start(who: ReferenceCompetitor, model: ReferenceModel | null, full: boolean, inOpen: boolean, at: number): void {
    if (!full && !inOpen) who.served.start(this.open, at);
    if (model === null) return;
    const bottleneck = this.of(model);
    if (full && !bottleneck.served.has(who)) bottleneck.served.set(who, ServedScore.beginning(bottleneck.time, at));
    this.enter(who, model, at);
    bottleneck.served.get(who)?.start(bottleneck.time, at);
  }

  /** `request`: tokens / weight. */
  resume(who: ReferenceCompetitor, model: ReferenceModel | null, request: number, at: number): void {
    const served = model === null ? who.served : this.of(model).served.get(who);
    const floor = (model === null ? this.open : this.of(model).time) - request;
    if (served !== undefined && served.score < floor) served.start(floor, at);
  }

  charge(who: ReferenceCompetitor, charge: ReferenceCharge, weight: number): void {
    who.served.charge(charge.tokens / weight);
    for (const [model, bottleneck] of this.#current())
      if (charge.everywhere || charge.model === model) bottleneck.served.get(who)?.charge(charge.tokens / weight);
  }

  correct(who: ReferenceCompetitor, charge: ReferenceCharge, weight: number, tokens: number): void {
    const [estimate, change] = [charge.tokens / weight, tokens / weight];
    who.served.correct(estimate, change, charge.at);
    for (const [model, bottleneck] of this.#current()) {
      const own = bottleneck.served.get(who);
      if (own === undefined) continue;
      if (charge.everywhere || charge.model === model || own.holds(charge.at)) own.correct(estimate, change, charge.at);
    }
  }

  /** Scores are without estimates in flight. */
  advance(
    model: ReferenceModel | null,
    score: number,
    lowest: (model: ReferenceModel | null) => number | undefined,
  ): void {
    this.open = Math.max(this.open, lowest(null) ?? score + this.shift(model));
    if (model === null) return;
    const bottleneck = this.of(model);
    bottleneck.time = Math.max(bottleneck.time, lowest(model) ?? score);
  }

  reweigh(who: ReferenceCompetitor, from: number, to: number, at: number): void {
    const change = (served: ServedScore, time: number): void => {
      if (from === to) return;
      const score = reweighed(served.score, time, from, to);
      served.rebase(score, score - time, at);
    };
    change(who.served, this.open);
    for (const [, bottleneck] of this.#current()) {
      const own = bottleneck.served.get(who);
      if (own !== undefined) change(own, bottleneck.time);
    }
  }

  receive(who: ReferenceCompetitor, from: ReferenceScores, at: number): void {
    const change = (served: ServedScore, there: number, here: number): void => {
      const lead = Math.max(0, served.score - there);
      served.rebase(here + lead, lead, at);
    };
    change(who.served, from.open, this.open);
    for (const [model, bottleneck] of from.#current()) {
      const own = bottleneck.served.get(who);
      if (own === undefined) continue;
      change(own, bottleneck.time, this.of(model).time);
      this.of(model).served.set(who, own);
      bottleneck.served.delete(who);
    }
  }

  #current(): (readonly [ReferenceModel, Behind])[] {
    return [...this.#behind].filter(
      ([model, { bottleneckPeriods }]) => model.isBottleneck && model.bottleneckPeriods === bottleneckPeriods,
    );
  }
}

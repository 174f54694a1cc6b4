/** Lines (decisions §20.1) for the slow reference: the same sums, written down without any order kept. */
import { ServedTokens } from "./served-tokens.ts";

/** A model as both levels see it. */
export interface RefModel {
  readonly name: string;
  admissionWeight: number;
  cap: number | null;
  watched: boolean;
  watches: number;
  fills: number;
}

/** A tenant or a group. */
export interface Party {
  readonly id: string;
  served: ServedTokens;
}

export interface RefCharge {
  readonly tokens: number;
  readonly at: number;
  readonly model: RefModel | null;
  readonly everywhere: boolean;
}

interface Behind {
  readonly watches: number;
  time: number;
  shift: number;
  fills: number;
  readonly served: Map<Party, ServedTokens>;
}

type Weight = (model: RefModel | null) => number;

export class RefLines {
  open = 0;
  #behind = new Map<RefModel, Behind>();

  reset(): void {
    this.open = 0;
    this.#behind = new Map();
  }

  of(model: RefModel): Behind {
    const known = this.#behind.get(model);
    if (known !== undefined && known.watches === model.watches) return known;
    const made = { watches: model.watches, time: this.open, shift: 0, fills: -1, served: new Map() };
    this.#behind.set(model, made);
    return made;
  }

  score(who: Party, model: RefModel | null, weight: number): number {
    if (model === null) return who.served.tokens / weight;
    const line = this.of(model);
    const served = line.served.get(who);
    if (served === undefined) throw new Error(`${who.id} does not stand behind ${model.name}`);
    return served.tokens / weight;
  }

  shift(model: RefModel | null): number {
    return model === null ? 0 : this.of(model).shift;
  }

  enter(who: Party, model: RefModel | null, weight: number, at: number): void {
    if (model === null) return;
    const line = this.of(model);
    if (!line.served.has(who)) line.served.set(who, who.served.copy(line.shift * weight, at));
  }

  /** `full`: the model has no room; `inOpen`: something of it waits in the open line. */
  start(who: Party, model: RefModel | null, weight: number, full: boolean, inOpen: boolean, at: number): void {
    if (!full && !inOpen) who.served.start(this.open * weight, at);
    if (model === null) return;
    const line = this.of(model);
    const floor = line.time * weight;
    if (full && !line.served.has(who)) line.served.set(who, ServedTokens.beginning(floor, at));
    this.enter(who, model, weight, at);
    line.served.get(who)?.start(floor, at);
  }

  comeBack(who: Party, model: RefModel | null, weight: number, tokens: number, at: number): void {
    const served = model === null ? who.served : this.of(model).served.get(who);
    const floor = (model === null ? this.open : this.of(model).time) * weight - tokens;
    if (served !== undefined && served.tokens < floor) served.start(floor, at);
  }

  charge(who: Party, charge: RefCharge): void {
    who.served.charge(charge.tokens);
    for (const [model, line] of this.#current())
      if (charge.everywhere || charge.model === model) line.served.get(who)?.charge(charge.tokens);
  }

  correct(who: Party, charge: RefCharge, tokens: number): void {
    who.served.correct(tokens, charge.at);
    for (const [model, line] of this.#current()) {
      const own = line.served.get(who);
      if (own === undefined) continue;
      if (charge.everywhere || charge.model === model || own.holds(charge.at)) own.correct(tokens, charge.at);
    }
  }

  advance(model: RefModel | null, score: number, lowest: (model: RefModel | null) => number | undefined): void {
    this.open = Math.max(this.open, lowest(null) ?? score + this.shift(model));
    if (model === null) return;
    const line = this.of(model);
    line.time = Math.max(line.time, lowest(model) ?? score);
  }

  reweigh(who: Party, from: Weight, to: Weight, at: number): void {
    const change = (served: ServedTokens, time: number, model: RefModel | null): void => {
      if (from(model) === to(model)) return;
      const lead = (served.tokens - time * from(model)) / Math.max(from(model), to(model));
      const tokens = Math.max(0, (time + lead) * to(model));
      served.rebase(tokens, tokens - time * to(model), at);
    };
    change(who.served, this.open, null);
    for (const [model, line] of this.#current()) {
      const own = line.served.get(who);
      if (own !== undefined) change(own, line.time, model);
    }
  }

  receive(who: Party, from: RefLines, weight: Weight, at: number): void {
    const change = (served: ServedTokens, there: number, here: number, model: RefModel | null): void => {
      const lead = Math.max(0, served.tokens - there * weight(model));
      served.rebase(here * weight(model) + lead, lead, at);
    };
    change(who.served, from.open, this.open, null);
    for (const [model, line] of from.#current()) {
      const own = line.served.get(who);
      if (own === undefined) continue;
      change(own, line.time, this.of(model).time, model);
      this.of(model).served.set(who, own);
      line.served.delete(who);
    }
  }

  #current(): (readonly [RefModel, Behind])[] {
    return [...this.#behind].filter(([model, { watches }]) => model.watched && model.watches === watches);
  }
}

/**
 * What an isolate asks of its Cell, by shape, within a span: enough of it makes a shape worth a loan. How many slots it
 * should begin with is told by whether its requests came together.
 */
import type { Ask } from "../ask.ts";
import type { Amounts } from "../budget/amounts.ts";
import type { Shape } from "./messages.ts";

/** A shape is worth a loan when this many of its requests had to ask the Cell within a span. */
export const WARM_REQUESTS = 4;
/** Requests that ask within this long are taken to run at the same time. */
const TOGETHER_MS = 50;
/** Slots that a shape wants at first whose requests do not: they will take turns. */
const AT_FIRST = 2;
/** Shapes counted at once; more are not worth the memory. */
const COUNTED_MAX = 1_000;

interface Counted {
  readonly shape: Shape;
  readonly sinceMs: number;
  requests: number;
  /** Of one of them. */
  readonly need: Amounts;
}

/** A shape that is worth a loan. */
export interface Warm {
  readonly key: string;
  readonly shape: Shape;
  /** Slots to begin with. */
  readonly slots: number;
  readonly need: Amounts;
}

export class Demand {
  readonly #counted = new Map<string, Counted>();

  count(key: string, ask: Pick<Ask, "need"> & Shape, nowMs: number): void {
    const known = this.#counted.get(key);
    if (known !== undefined) {
      known.requests += 1;
      return;
    }
    const { tenant, group, model, revs, limits, need } = ask;
    this.#add(key, { shape: { tenant, group, model, revs, limits }, sinceMs: nowMs, requests: 1, need });
  }

  /** A shape that is known to be warm, with what it uses at once. */
  know({ key, shape, slots, need }: Warm, nowMs: number): void {
    this.#add(key, { shape, sinceMs: nowMs, requests: WARM_REQUESTS + slots, need });
  }

  get warm(): boolean {
    return [...this.#counted.values()].some(({ requests }) => requests >= WARM_REQUESTS);
  }

  /** Takes out what is warm. */
  takeWarm(nowMs: number): readonly Warm[] {
    const warm: Warm[] = [];
    for (const [key, { shape, sinceMs, requests, need }] of this.#counted) {
      if (requests < WARM_REQUESTS) continue;
      this.#counted.delete(key);
      warm.push({ key, shape, slots: nowMs < sinceMs + TOGETHER_MS ? requests : AT_FIRST, need });
    }
    return warm;
  }

  clear(): void {
    this.#counted.clear();
  }

  #add(key: string, counted: Counted): void {
    if (this.#counted.size < COUNTED_MAX) this.#counted.set(key, counted);
  }
}

/** One lease as its Cell knows it: what was granted, and what became of that. */
import { type ActualUsage, type Amounts, covers, NO_AMOUNTS, plus, plusUsed } from "./amounts.ts";
import type { BudgetLimits } from "./limits.ts";
import type { LeaseReport, LeaseRequestEnd, OpenedLease, UsedLine } from "./rpc.ts";
import type { PeriodTags } from "./term-budget.ts";

export class CellLease {
  readonly n: number;
  readonly pool: string | null;
  readonly opened: OpenedLease | null;
  /** Null while the answer is not here: nobody knows what was granted. */
  granted: Amounts | null;
  /** The authority knows of no limit that is near. */
  ample = false;
  ended = false;
  /** Its answer was lost: whatever was granted goes back. */
  void = false;
  /** Number of its newest change. A lease is stored when it is granted: 0 needs no word. */
  changedN = 0;
  #released: Amounts = NO_AMOUNTS;
  #moved: Amounts = NO_AMOUNTS;
  #request: LeaseRequestEnd | null;
  readonly #used = new Map<string, UsedLine>();

  /** One that is asked for, but for `opened`; `request`: the one whose own it is. */
  constructor(
    n: number,
    pool: string | null,
    opened: OpenedLease | null = null,
    request: LeaseRequestEnd | null = null,
  ) {
    this.n = n;
    this.pool = pool;
    this.opened = opened;
    this.granted = opened?.granted ?? null;
    this.#request = request;
  }

  /** Nothing will be drawn or used any more. */
  get over(): boolean {
    if (this.void) return true;
    return this.ended && this.granted !== null && covers(plus(this.#released, this.#moved), this.granted);
  }

  /** Part of it ended, or came back. */
  release(amounts: Amounts): void {
    this.#released = plus(this.#released, amounts);
  }

  /** Part of it is held by the lease of a single request from now on. */
  move(amounts: Amounts): void {
    this.#moved = plus(this.#moved, amounts);
  }

  /** What a request used of it. */
  use(limits: BudgetLimits, tags: PeriodTags, used: ActualUsage): void {
    if (used.tokens === 0 && used.nanoUsd === 0) return;
    const name = JSON.stringify([limits.key.id, tags.tenant, tags.key]);
    const known = this.#used.get(name);
    this.#used.set(name, { limits, tags, used: known === undefined ? used : plusUsed(known.used, used) });
  }

  /** The request that has it is told: what it held comes back. */
  endRequest(goesOn: boolean): void {
    if (this.#request !== null) this.#request = { id: this.#request.id, goesOn };
    this.#released = this.granted ?? NO_AMOUNTS;
    this.ended = true;
  }

  /** All that is to be said of it. */
  get report(): LeaseReport {
    const { n, pool, opened, ended } = this;
    return { n, pool, released: this.#released, used: [...this.#used.values()], ended, opened, request: this.#request };
  }
}

/** One lease as its Cell knows it: what was granted, what became of that, and how much of it the authority has stored. */
import { type Actual, type Amounts, covers, NOTHING, plus, plusUsed } from "./amounts.ts";
import type { LeaseReport, LeaseRequestEnd, OpenedLease, Tags, UsedLine } from "./api.ts";
import type { BudgetLimits } from "./limits.ts";

/** Which lease it is; see LeaseReport. */
export type LeaseHead = Pick<LeaseReport, "pool" | "opened" | "request">;

/** The head of a lease that is asked for. */
export function askedOf(pool: string | null): LeaseHead {
  return { pool, opened: null, request: null };
}

export class CellLease {
  readonly n: number;
  readonly pool: string | null;
  readonly opened: OpenedLease | null;
  /** Null while the answer is not here: nobody knows what was granted. */
  granted: Amounts | null;
  /** The authority knows of no limit that is near. */
  ample = false;
  ended = false;
  version = 1;
  /** What was acknowledged last, by which life of the authority, and its count of what it had applied then. */
  acknowledged: { readonly version: number; readonly incarnation: string; readonly applied: number } | null = null;
  /** The newest version that is known to be stored. A lease is stored when it is granted: 1 needs no word. */
  storedVersion = 1;
  #released: Amounts = NOTHING;
  #moved: Amounts = NOTHING;
  #void = false;
  #request: LeaseRequestEnd | null;
  readonly #used = new Map<string, UsedLine>();

  constructor(n: number, { pool, opened, request }: LeaseHead) {
    this.n = n;
    this.pool = pool;
    this.opened = opened;
    this.granted = opened?.granted ?? null;
    this.#request = request;
  }

  /** Nothing will be drawn or used any more. */
  get over(): boolean {
    if (this.#void) return true;
    return this.ended && this.granted !== null && covers(plus(this.#released, this.#moved), this.granted);
  }

  /** Whether there is anything to say of it. Of one that is asked for, the ask itself says it. */
  get known(): boolean {
    return this.granted !== null || this.#void;
  }

  /** Its answer was lost: whatever was granted goes back. */
  void(): void {
    this.#void = true;
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
  use(limits: BudgetLimits, tags: Tags, used: Actual): void {
    if (used.tokens === 0 && used.nanoUsd === 0) return;
    const name = JSON.stringify([limits.key.id, tags.tenant, tags.key]);
    const known = this.#used.get(name);
    this.#used.set(name, { limits, tags, used: known === undefined ? used : plusUsed(known.used, used) });
  }

  /** The request that has it is told: what it held comes back. */
  endRequest(goesOn: boolean): void {
    if (this.#request !== null) this.#request = { id: this.#request.id, goesOn };
    this.#released = this.granted ?? NOTHING;
    this.ended = true;
  }

  /** All that is to be said of it. */
  get word(): LeaseReport {
    const { n, version, pool, opened } = this;
    const used = [...this.#used.values()];
    const [released, request] = [this.#void ? ("all" as const) : this.#released, this.#request];
    return { n, version, pool, released, used, ended: this.ended || this.#void, opened, request };
  }
}

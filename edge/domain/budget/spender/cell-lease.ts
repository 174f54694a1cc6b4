/** One lease as its Cell knows it: what was granted, and what was used, moved and given back of it. */
import { type ActualUsage, type Amounts, covers, isNothingUsed, NO_AMOUNTS, plus, plusUsed } from "../amounts.ts";
import type { BudgetLimits } from "../limits.ts";
import type { LeaseReport, LeaseRequestEnd, OpenedLease, UsedLine } from "../messages/rpc.ts";
import type { PeriodTags } from "../term-budget.ts";

export class CellLease {
  readonly n: number;
  readonly pool: string | null;
  readonly opened: OpenedLease | null;
  /** Null until the answer has arrived: the Cell does not know yet what was granted. */
  granted: Amounts | null;
  /** The authority knows of no limit that is near its cap. */
  ample = false;
  ended = false;
  /** Its answer was lost: what may have been granted goes back. */
  void = false;
  /** Number of its newest change; 0: no change to report, since a lease is stored when it is granted. */
  changedN = 0;
  #released: Amounts = NO_AMOUNTS;
  #moved: Amounts = NO_AMOUNTS;
  #request: LeaseRequestEnd | null;
  readonly #used = new Map<string, UsedLine>();

  /**
   * A requested lease, or with `opened` one that the Cell opened itself. `request`: the single request that it belongs to.
   */
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

  /** True when nothing more will be drawn from it or used of it. */
  get over(): boolean {
    if (this.void) return true;
    return this.ended && this.granted !== null && covers(plus(this.#released, this.#moved), this.granted);
  }

  /** Notes that part of it ended or came back. */
  release(amounts: Amounts): void {
    this.#released = plus(this.#released, amounts);
  }

  /** Notes that from now on the lease of a single request holds part of it. */
  move(amounts: Amounts): void {
    this.#moved = plus(this.#moved, amounts);
  }

  /** Adds what a request used of it. */
  use(limits: BudgetLimits, tags: PeriodTags, used: ActualUsage): void {
    if (isNothingUsed(used)) return;
    const name = JSON.stringify([limits.key.id, tags.tenant, tags.key]);
    const known = this.#used.get(name);
    this.#used.set(name, { limits, tags, used: known === undefined ? used : plusUsed(known.used, used) });
  }

  /** Marks the end of its request as reported: what the request held comes back. */
  endRequest(goesOn: boolean): void {
    if (this.#request !== null) this.#request = { id: this.#request.id, goesOn };
    this.#released = this.granted ?? NO_AMOUNTS;
    this.ended = true;
  }

  /** The complete state of the lease as it is reported to the authority. */
  get report(): LeaseReport {
    const { n, pool, opened, ended } = this;
    return { n, pool, released: this.#released, used: [...this.#used.values()], ended, opened, request: this.#request };
  }
}

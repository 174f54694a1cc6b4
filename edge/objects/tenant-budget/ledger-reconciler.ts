/**
 * Holds the counters of a budget object against the ledger (decisions §19.6): once per counter and period in the life of
 * the object, and whenever asked to. A caller waits for the first check a little, never for a store that is down; then
 * the check goes on behind its back and is tried again later. What it waits for is measured by MonotonicClock: a clock that is
 * set holds nobody up.
 */
import { ledgerSum } from "../../adapters/ledger-sums.ts";
import { monthBounds, monthOf } from "../../adapters/zone-months.ts";
import { type BudgetLimits, isCapped } from "../../domain/budget/limits.ts";
import { MonotonicClock } from "../../domain/budget/monotonic-clock.ts";
import type { TenantBudgetAuthority } from "../../domain/budget/tenant-budget-authority.ts";
import { periodTag } from "../../domain/budget/term-budget.ts";
import type { BudgetOwner } from "../../domain/budget/term-counters.ts";
import { periodStartMs } from "../../domain/budget/usage-view.ts";
import type { ClickhouseEnv } from "../../env.ts";

/** Well inside the deadline of a lease (decisions §19.5). */
const PATIENCE_MS = 400;
const RETRY_MS = 10_000;
/**
 * What ended this lately is left out: a cell that lives tells it within ten seconds (design §7), and a row that is in the
 * ledger before would count twice.
 */
const CELLS_TELL_MS = 20_000;

/** Times are of the check's MonotonicClock. */
interface Check {
  readonly tag: string;
  readonly startedMs: number;
  answered: boolean;
  /** Settles to whether the ledger answered; never rejects. */
  readonly done: Promise<boolean>;
  failedAtMs: number | null;
}

export class LedgerReconciler {
  readonly #core: TenantBudgetAuthority;
  readonly #store: ClickhouseEnv;
  readonly #now: () => number;
  readonly #checks = new Map<string, Check>();
  readonly #time = new MonotonicClock();

  /** `now`: the object's clock. */
  constructor(core: TenantBudgetAuthority, store: ClickhouseEnv, now: () => number) {
    this.#core = core;
    this.#store = store;
    this.#now = now;
  }

  /** Whether every counter that binds here has been checked; then there is nothing to wait for. */
  isFresh(limits: BudgetLimits, nowMs: number): boolean {
    return this.#bound(limits).every((whose) => this.#known(whose, limits, nowMs)?.answered === true);
  }

  /** Waits for the first check of every counter that has caps, until {@link PATIENCE_MS} after it began. */
  async beforeDeciding(limits: BudgetLimits): Promise<void> {
    await this.#patience(this.#bound(limits).map((whose) => this.#start(whose, limits)));
  }

  /** The same for one counter that is read: it is kept without caps too (decisions §19.2). */
  async beforeReading(whose: BudgetOwner, limits: BudgetLimits): Promise<void> {
    await this.#patience([this.#start(whose, limits)]);
  }

  async #patience(checks: readonly Check[]): Promise<void> {
    const waitMs = Math.max(...checks.map(({ startedMs }) => startedMs)) + PATIENCE_MS - this.#time.at(this.#now());
    if (waitMs <= 0) return;
    const all = Promise.all(checks.map(({ done }) => done));
    await Promise.race([all, new Promise((resolve) => setTimeout(resolve, waitMs))]);
  }

  /**
   * Asks the ledger anew; for everything when a cell died that would have told: what the others have not told yet may count
   * twice, and the cap holds. False: it did not answer.
   */
  async recheck(whose: BudgetOwner, limits: BudgetLimits, afterDeath = false): Promise<boolean> {
    this.#checks.delete(this.#id(whose, limits));
    return await this.#start(whose, limits, afterDeath ? 0 : CELLS_TELL_MS).done;
  }

  #bound(limits: BudgetLimits): readonly BudgetOwner[] {
    return (["tenant", "key"] as const).filter((whose) => isCapped(limits[whose].term));
  }

  #id(whose: BudgetOwner, limits: BudgetLimits): string {
    return `${whose}:${limits[whose].id}`;
  }

  /** The check of the period of now, finished or under way, unless it failed a while ago. */
  #known(whose: BudgetOwner, limits: BudgetLimits, nowMs: number): Check | undefined {
    const check = this.#checks.get(this.#id(whose, limits));
    const tag = periodTag(limits[whose].term, limits.tenant.timezone, nowMs, monthOf);
    if (check === undefined || check.tag !== tag) return undefined;
    return check.failedAtMs !== null && check.failedAtMs + RETRY_MS <= this.#time.at(nowMs) ? undefined : check;
  }

  #start(whose: BudgetOwner, limits: BudgetLimits, leftOutMs = CELLS_TELL_MS): Check {
    const nowMs = this.#now();
    const known = this.#known(whose, limits, nowMs);
    if (known !== undefined) return known;
    const { id, term } = limits[whose];
    const tag = periodTag(term, limits.tenant.timezone, nowMs, monthOf);
    const since = periodStartMs(term, limits.tenant.timezone, nowMs, monthBounds);
    const done = ledgerSum(this.#store, whose, id, since, nowMs - leftOutMs).then(
      (sum) => {
        this.#core.applyLedgerSum(whose, limits, tag, sum, this.#now());
        check.answered = true;
        return true;
      },
      () => {
        check.failedAtMs = this.#time.at(this.#now());
        return false;
      },
    );
    const check: Check = { tag, startedMs: this.#time.at(nowMs), answered: false, done, failedAtMs: null };
    this.#checks.set(this.#id(whose, limits), check);
    return check;
  }
}

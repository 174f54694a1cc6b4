/**
 * Compares the counters of a budget object with the ledger (docs/rules/budgets.md#check-against-the-ledger). A caller waits a
 * short time for the first check of a counter in its period, never for a store that is down; then the check continues without
 * the caller and is retried later. The wait is measured by MonotonicClock, so setting the clock makes no caller wait longer.
 */
import { sleep } from "../../../shared/time/sleep.ts";
import type { TenantBudgetAuthority } from "../../domain/budget/authority/tenant-budget-authority.ts";
import { type BudgetLimits, type BudgetOwner, isCapped, isEndUser, OWNERS } from "../../domain/budget/limits.ts";
import { MonotonicClock } from "../../domain/budget/monotonic-clock.ts";
import { periodTag } from "../../domain/budget/term-budget.ts";
import { periodStartMs } from "../../domain/budget/usage-view.ts";
import type { TenantBudgetPorts } from "../object-ports.ts";

/** Well below the deadline of a lease (docs/rules/budgets.md#unreachable). */
const WAIT_MS = 400;
const RETRY_MS = 10_000;
/** At most this many keys of a tenant, or new end users, are read at once. */
const AT_ONCE = 8;
/** Of more counters the oldest check of an end user is forgotten, and made again. */
const CHECKS_MAX = 10_000;
/**
 * Rows that ended within this time are left out: a live cell reports their use within ten seconds
 * (docs/rules/budgets.md#leases), and a row that is in the ledger before that report would count twice.
 */
const CELLS_REPORT_MS = 20_000;
/**
 * A counter without a cap has no leases, so nothing shows that a Cell died before it reported: a counter that is read is
 * checked again after this long.
 */
const UNCAPPED_STALE_MS = 20_000;

type LedgerReconcilerPorts = Pick<TenantBudgetPorts, "now" | "monthOf" | "monthBounds" | "ledgerSum">;

/** Times are by the check's MonotonicClock. */
interface Check {
  readonly tag: string;
  /** Whether the counter had a cap. */
  readonly capped: boolean;
  readonly startedMs: number;
  /** This one, or an earlier one of the period. */
  answered: boolean;
  /** Resolves to whether the ledger answered; never rejects. */
  readonly done: Promise<boolean>;
  failedAtMs: number | null;
}

export class LedgerReconciler {
  readonly #core: TenantBudgetAuthority;
  readonly #ports: LedgerReconcilerPorts;
  /** Called when a check has changed data that the object must store or send, even if nobody waits for the check any more. */
  readonly #changed: () => void;
  readonly #checks = new Map<string, Check>();
  readonly #time = new MonotonicClock();
  /** How many reads of the ledger are under way. */
  #reading = 0;

  constructor(core: TenantBudgetAuthority, ports: LedgerReconcilerPorts, changed: () => void) {
    this.#core = core;
    this.#ports = ports;
    this.#changed = changed;
  }

  /** Whether every counter with a cap has been checked; then there is nothing to wait for. */
  isFresh(limits: BudgetLimits, nowMs: number): boolean {
    return this.#bound(limits, nowMs).every((whose) => this.#inPeriod(whose, limits, nowMs)?.answered === true);
  }

  /** Waits for the first check of every counter that has caps, until {@link WAIT_MS} after its start. */
  async beforeDeciding(limits: BudgetLimits): Promise<void> {
    await this.#awaitChecks(this.#bound(limits, this.#ports.now()).map((whose) => this.#start(whose, limits)));
  }

  /**
   * Does the same for one counter that is read. Counters are kept without caps too (docs/rules/budgets.md#term-budgets), except
   * those of end users.
   */
  async beforeReading(whose: BudgetOwner, limits: BudgetLimits): Promise<void> {
    if (isEndUser(limits[whose].id)) await this.beforeDeciding(limits);
    else await this.#awaitChecks([this.#start(whose, limits)]);
  }

  async #awaitChecks(checks: readonly Check[]): Promise<void> {
    const waitMs = Math.max(...checks.map(({ startedMs }) => startedMs)) + WAIT_MS - this.#time.at(this.#ports.now());
    if (waitMs <= 0) return;
    const all = Promise.all(checks.map(({ done }) => done));
    await Promise.race([all, sleep(waitMs)]);
  }

  /** Reads the ledger again. False: the ledger did not answer. */
  async recheck(whose: BudgetOwner, limits: BudgetLimits, leftOutMs = CELLS_REPORT_MS): Promise<boolean> {
    return await this.#begin(whose, limits, leftOutMs).done;
  }

  /**
   * Reads the ledger again after the death of a Cell, for a tenant, which comes first, and for keys of it, a few at a time; also
   * the rows that living Cells may still report, because a dead one will not report its own: they may then count twice, but the
   * cap holds. Returns the ids of the keys for which it did not answer; null: nor for the tenant, or there is nothing to read.
   */
  async recheckAfterDeath(
    counters: readonly { readonly whose: BudgetOwner; readonly limits: BudgetLimits }[],
  ): Promise<readonly string[] | null> {
    const [tenant, ...keys] = counters;
    if (tenant === undefined || !(await this.recheck(tenant.whose, tenant.limits, 0))) return null;
    const unanswered: string[] = [];
    for (let at = 0; at < keys.length; at += AT_ONCE) {
      const some = keys.slice(at, at + AT_ONCE);
      const answers = await Promise.all(some.map(({ whose, limits }) => this.recheck(whose, limits, 0)));
      unanswered.push(...some.filter((_, of) => answers[of] !== true).map(({ limits }) => limits.key.id));
      // The store is down: the others would only wait for it.
      if (!answers.includes(true))
        return [...unanswered, ...keys.slice(at + AT_ONCE).map(({ limits }) => limits.key.id)];
    }
    return unanswered;
  }

  /**
   * Clients can name any number of end users, so each is checked once for each revision of its limits: while they stay the
   * same, the object counts all use, and its counts are on its disk, except for the last few seconds before a crash.
   */
  #bound(limits: BudgetLimits, nowMs: number): readonly BudgetOwner[] {
    return OWNERS.filter((whose) => {
      const { id, term, rev } = limits[whose];
      if (!isCapped(term) || !isEndUser(id)) return isCapped(term);
      return !this.#core.isChecked(id, periodTag(term, limits.tenant.timezone, nowMs, this.#ports.monthOf), rev);
    });
  }

  #id(whose: BudgetOwner, limits: BudgetLimits): string {
    return `${whose}:${limits[whose].id}`;
  }

  /** The newest check of a counter in its current period, and since it got its cap or lost it. */
  #inPeriod(whose: BudgetOwner, limits: BudgetLimits, nowMs: number): Check | undefined {
    const check = this.#checks.get(this.#id(whose, limits));
    const { term } = limits[whose];
    const tag = periodTag(term, limits.tenant.timezone, nowMs, this.#ports.monthOf);
    return check?.tag === tag && check.capped === isCapped(term) ? check : undefined;
  }

  /** The check that is under way or still valid, or a new one. */
  #start(whose: BudgetOwner, limits: BudgetLimits): Check {
    const nowMs = this.#ports.now();
    const known = this.#inPeriod(whose, limits, nowMs);
    if (known !== undefined) {
      const { failedAtMs, startedMs, capped } = known;
      const atMs = this.#time.at(nowMs);
      const isStale = !capped && startedMs + UNCAPPED_STALE_MS <= atMs;
      const isDue = failedAtMs === null ? isStale : failedAtMs + RETRY_MS <= atMs;
      if (!isDue) return known;
    }
    return isEndUser(limits[whose].id) ? this.#beginOfEndUser(limits) : this.#begin(whose, limits);
  }

  /**
   * If nothing is kept of an end user here, no Cell has anything to report of it, so nothing is left out. Of many end users,
   * those beyond a few at a time are checked later, like those for whom the ledger did not answer.
   */
  #beginOfEndUser(limits: BudgetLimits): Check {
    if (this.#reading < AT_ONCE)
      return this.#begin("key", limits, this.#core.isKnown(limits.key.id) ? CELLS_REPORT_MS : 0);
    const nowMs = this.#ports.now();
    const atMs = this.#time.at(nowMs);
    const tag = periodTag(limits.key.term, limits.tenant.timezone, nowMs, this.#ports.monthOf);
    const none = { answered: false, done: Promise.resolve(false), failedAtMs: atMs };
    return this.#keep("key", limits, { tag, capped: true, startedMs: atMs, ...none });
  }

  #keep(whose: BudgetOwner, limits: BudgetLimits, check: Check): Check {
    const id = this.#id(whose, limits);
    // In the order in which they started.
    this.#checks.delete(id);
    this.#checks.set(id, check);
    for (const oldest of this.#checks.keys()) {
      if (this.#checks.size <= CHECKS_MAX || !isEndUser(id)) break;
      if (isEndUser(oldest)) this.#checks.delete(oldest);
    }
    return check;
  }

  #begin(whose: BudgetOwner, limits: BudgetLimits, leftOutMs = CELLS_REPORT_MS): Check {
    const nowMs = this.#ports.now();
    const { id, term } = limits[whose];
    const tag = periodTag(term, limits.tenant.timezone, nowMs, this.#ports.monthOf);
    const since = periodStartMs(term, limits.tenant.timezone, nowMs, this.#ports.monthBounds);
    this.#reading += 1;
    const done = this.#ports
      .ledgerSum(whose, id, since, nowMs - leftOutMs)
      .then((sum) => {
        this.#core.applyLedgerSum(whose, limits, tag, sum, this.#ports.now());
        // A newer one may be under way.
        for (const one of [check, this.#inPeriod(whose, limits, nowMs) ?? check]) one.answered = true;
        // The object's stored state shows that it was checked.
        if (isEndUser(id)) this.#checks.delete(this.#id(whose, limits));
        this.#changed();
        return true;
      })
      .catch(() => {
        check.failedAtMs = this.#time.at(this.#ports.now());
        return false;
      })
      .finally(() => {
        this.#reading -= 1;
      });
    const answered = this.#inPeriod(whose, limits, nowMs)?.answered ?? false;
    const startedMs = this.#time.at(nowMs);
    const check: Check = { tag, capped: isCapped(term), startedMs, answered, done, failedAtMs: null };
    return this.#keep(whose, limits, check);
  }
}

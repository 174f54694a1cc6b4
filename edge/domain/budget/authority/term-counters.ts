/**
 * The term counters of one tenant and its keys, under the newest known limits of each. Every access names its limits and
 * the time, so that no counter is read under an old cap or in an old period. Alerts are judged whenever what is used, a cap
 * or a period changes (docs/rules/budgets.md#alerts).
 */
import { type BudgetAlert, budgetAlert } from "../alerts.ts";
import type { ActualUsage } from "../amounts.ts";
import { type BudgetLimits, type KeyLimits, NO_KEY, type TenantLimits } from "../limits.ts";
import {
  emptyAccount,
  type KeyCounter,
  type MonthOf,
  type PeriodTags,
  raiseAlerts,
  raiseTo,
  rearm,
  type TermAccount,
  TermPeriod,
} from "../term-budget.ts";
import type { StoredState } from "./stored.ts";

export type BudgetOwner = "tenant" | "key";

export class TermCounters {
  readonly #monthOf: MonthOf;
  readonly #keys: Map<string, KeyCounter>;
  readonly #dirtyKeys = new Set<string>();
  readonly #onAlert: (alert: BudgetAlert) => void;
  tenant: TenantLimits | null;
  account: TermAccount | null;

  /** The stored counters; limits that were learned since are those of the leases that were granted since. */
  constructor(monthOf: MonthOf, { tenant, keys, grants }: StoredState, onAlert: (alert: BudgetAlert) => void) {
    this.#monthOf = monthOf;
    this.#onAlert = onAlert;
    this.tenant = tenant?.limits ?? null;
    this.account = tenant?.account ?? null;
    this.#keys = new Map(keys.map(({ limits, account }) => [limits.id, { limits, account }]));
    for (const { limits } of grants) {
      if (limits === null) continue;
      this.tenant = newer(this.tenant, limits.tenant);
      if (limits.key.id === NO_KEY.id) continue;
      const known = this.#keys.get(limits.key.id);
      this.#keys.set(limits.key.id, {
        limits: newer(known?.limits, limits.key),
        account: known?.account ?? emptyAccount(""),
      });
      // The next checkpoint replaces the leases' rows.
      this.#dirtyKeys.add(limits.key.id);
    }
  }

  /** The newest known limits of a key and its tenant; null: of the tenant. Undefined: they are not known. */
  limitsOf(keyId: string | null): BudgetLimits | undefined {
    const key = keyId === null ? NO_KEY : this.#keys.get(keyId)?.limits;
    return this.tenant === null || key === undefined ? undefined : { tenant: this.tenant, key };
  }

  /**
   * Takes limits, unless newer ones are known, and brings both counters to the current period; returns the limits that
   * apply.
   */
  touch(limits: BudgetLimits, nowMs: number): BudgetLimits {
    const known = this.#keys.get(limits.key.id);
    const before = this.tenant;
    const newest = { tenant: newer(before, limits.tenant), key: newer(known?.limits, limits.key) };
    this.tenant = newest.tenant;
    this.account = this.#current("tenant", newest, before, this.account, nowMs);
    if (newest.key.id === NO_KEY.id) return newest;
    const account = this.#current("key", newest, known?.limits, known?.account, nowMs);
    if (known !== undefined && known.account !== account) this.#dirtyKeys.add(newest.key.id);
    this.#keys.set(newest.key.id, { limits: newest.key, account });
    return newest;
  }

  /** The account as of the last touch. */
  read(whose: BudgetOwner, limits: BudgetLimits): TermAccount {
    const account = whose === "tenant" ? this.account : this.#keys.get(limits.key.id)?.account;
    return account ?? emptyAccount("");
  }

  /** Charges what a request used to the periods in which it started. Call touch before it. */
  charge(limits: BudgetLimits, tags: PeriodTags, used: ActualUsage, nowMs: number): void {
    for (const whose of ["tenant", "key"] as const) {
      const charged = this.#periods(whose, limits, nowMs).charge(this.read(whose, limits), tags[whose], used);
      this.#write(whose, limits, charged);
    }
  }

  /** Takes the ledger's sum since the period `tag` began; ignored when that period is over. */
  raise(whose: BudgetOwner, limits: BudgetLimits, tag: string, sum: ActualUsage): void {
    const account = this.read(whose, limits);
    if (account.tag === tag) this.#write(whose, limits, raiseTo(account, sum));
  }

  /** The keys that changed since the last call, and these. */
  takeDirtyKeys(others: readonly string[]): readonly KeyCounter[] {
    const dirty = [...new Set([...this.#dirtyKeys, ...others])].flatMap((id) => this.#keys.get(id) ?? []);
    this.#dirtyKeys.clear();
    return dirty;
  }

  #periods(whose: BudgetOwner, limits: BudgetLimits, nowMs: number): TermPeriod {
    return new TermPeriod(limits[whose].term, limits.tenant.timezone, nowMs, this.#monthOf);
  }

  /** The account in the current period, under limits that may have changed. */
  #current(
    whose: BudgetOwner,
    limits: BudgetLimits,
    before: TenantLimits | KeyLimits | null | undefined,
    account: TermAccount | null | undefined,
    nowMs: number,
  ): TermAccount {
    const rolled = this.#periods(whose, limits, nowMs).roll(account);
    const { term, rev } = limits[whose];
    // Nothing was used: a cap that is exhausted at once needs no warning before that.
    return this.#judged(whose, limits, before ? rearm(rolled, before.term, term, rev) : rolled, 1);
  }

  /** Raises the alerts that are due, at most this many, the worst ones. */
  #judged(whose: BudgetOwner, limits: BudgetLimits, judged: TermAccount, most: number): TermAccount {
    const { account, levels } = raiseAlerts(judged, limits[whose].term);
    for (const level of levels.slice(-most)) this.#onAlert(budgetAlert(whose, level, limits, account));
    return account;
  }

  #write(whose: BudgetOwner, limits: BudgetLimits, written: TermAccount): void {
    const account = this.#judged(whose, limits, written, 2);
    if (whose === "tenant") {
      this.account = account;
      return;
    }
    this.#keys.set(limits.key.id, { limits: limits.key, account });
    this.#dirtyKeys.add(limits.key.id);
  }
}

function newer<T extends { readonly rev: number }>(known: T | null | undefined, heard: T): T {
  return known && known.rev > heard.rev ? known : heard;
}

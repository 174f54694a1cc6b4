/**
 * The authority's state of a tenant and of its keys: the newest limits of each, the use in its period, and its buckets. Every
 * access passes its limits and the time, so nothing is read under an old cap or in an old period. A key has buckets once it has
 * had a limit per minute. Alerts are evaluated whenever the use, a cap or a period changes (docs/rules/budgets.md#alerts). `nowMs`
 * is the reading of the object's clock, `atMs` the time of its MonotonicClock.
 */
import { type BudgetAlert, budgetAlert } from "../alerts.ts";
import { type ActualUsage, type Amounts, NO_AMOUNTS, plus } from "../amounts.ts";
import {
  type BudgetLimits,
  type BudgetOwner,
  isEndUser,
  type KeyLimits,
  NO_KEY,
  OWNERS,
  type TenantLimits,
} from "../limits.ts";
import { amountOf, byRate, isRated, perMinute, RATE_NAMES, type Rate, type RateGains } from "../rates.ts";
import {
  emptyAccount,
  isMonth,
  type MonthOf,
  type PeriodTags,
  raiseAlerts,
  raiseTo,
  rearm,
  type TermAccount,
  TermPeriod,
} from "../term-budget.ts";
import { fullBucket, type OwnedBuckets, spentBucket } from "../token-bucket.ts";
import type { GrantedLeases } from "./granted-leases.ts";
import { HeldBucket, type OutOfBucket } from "./held-bucket.ts";
import type { LedgerCheck, StoredBuckets, StoredGrants, StoredKey, StoredState, StoredTenant } from "./stored.ts";

/** Clients can name any number of end users: of more of them only the latest are kept, the others are in the ledger. */
const END_USERS_MAX = 10_000;
/** So many are forgotten at once that it need not be done at each checkpoint. */
const END_USERS_KEPT = 9_000;

type HeldBuckets = Readonly<Record<Rate, HeldBucket>>;

/** Of a tenant, or of a key. */
interface Owner<Limits> {
  limits: Limits;
  used: TermAccount;
  /** Null: a key that has had no limit per minute. */
  buckets: HeldBuckets | null;
  /** Since the last checkpoint, otherwise than by refilling. */
  isChanged: boolean;
  /** Of an end user; null: the ledger has not answered yet. */
  checked: LedgerCheck | null;
}

export class BudgetOwners {
  readonly #stored: StoredState;
  readonly #leases: GrantedLeases;
  readonly #monthOf: MonthOf;
  readonly #onAlert: (alert: BudgetAlert) => void;
  readonly #tenant: Owner<TenantLimits | null> & { readonly buckets: HeldBuckets };
  readonly #keys = new Map<string, Owner<KeyLimits>>();
  unsaved = false;

  /** The stored level, refilled up to now, less the grants since; `leases`: outstanding leases, including those grants. */
  constructor(
    stored: StoredState,
    leases: GrantedLeases,
    monthOf: MonthOf,
    onAlert: (alert: BudgetAlert) => void,
    atMs: number,
  ) {
    this.#stored = stored;
    this.#leases = leases;
    this.#monthOf = monthOf;
    this.#onAlert = onAlert;
    const { tenant, keys, grants } = stored;
    const rates = tenant?.rates ?? (tenant === null ? {} : { tokens: tenant });
    const buckets = this.#restored(null, rates, atMs);
    const used = tenant?.account ?? emptyAccount("");
    this.#tenant = { limits: tenant?.limits ?? null, used, buckets, isChanged: false, checked: null };
    for (const { limits, account, checked = null } of keys)
      this.#keys.set(limits.id, { ...ownerOf(limits, account), checked });
    for (const { limits } of grants) {
      if (limits === undefined) continue;
      this.#tenant.limits = newer(this.#tenant.limits, limits.tenant);
      if (limits.key.id === NO_KEY.id) continue;
      const known = this.#keys.get(limits.key.id) ?? ownerOf(limits.key);
      // The next checkpoint replaces the leases' rows.
      this.#keys.set(limits.key.id, { ...known, limits: newer(known.limits, limits.key), isChanged: true });
    }
    const ratesOf = new Map(keys.map((key) => [key.limits.id, key.rates]));
    for (const [id, owner] of this.#keys) {
      const kept = ratesOf.get(id);
      if (kept !== undefined || isRated(owner.limits)) owner.buckets = this.#restored(id, kept ?? {}, atMs);
    }
  }

  /** The newest known limits of a key and its tenant; null: of the tenant. Undefined: they are not known. */
  limitsOf(keyId: string | null): BudgetLimits | undefined {
    const { limits: tenant } = this.#tenant;
    const key = keyId === null ? NO_KEY : this.#keys.get(keyId)?.limits;
    return tenant === null || key === undefined ? undefined : { tenant, key };
  }

  /** Whether anything is kept of a key. */
  isKnown(keyId: string): boolean {
    return this.#keys.has(keyId);
  }

  /**
   * Whether the use of an end user in a period is fully known, under limits of this revision: between two revisions there may
   * have been no budget, and nobody counted. A month later than a checked one starts with nothing.
   */
  isChecked(keyId: string, tag: string, rev: number): boolean {
    const checked = this.#keys.get(keyId)?.checked ?? null;
    if (checked === null || checked.rev < rev) return false;
    return checked.tag === tag || (isMonth(checked.tag) && isMonth(tag) && checked.tag < tag);
  }

  /** The amounts used, as of the last touch. */
  usedOf(whose: BudgetOwner, limits: BudgetLimits): TermAccount {
    return this.#of(whose, limits)?.used ?? emptyAccount("");
  }

  /** The buckets that bind a pool, as of the last touch. */
  bucketsOf(keyId: string | null): OwnedBuckets {
    const key = keyId === null ? null : (this.#keys.get(keyId)?.buckets ?? null);
    return { tenant: levels(this.#tenant.buckets), key: key === null ? null : levels(key) };
  }

  /** Takes limits, unless newer ones are known, and brings everything up to now; returns the limits that apply. */
  touch(limits: BudgetLimits, nowMs: number, atMs: number): BudgetLimits {
    const known = this.#keys.get(limits.key.id);
    const newest = {
      tenant: newer(this.#tenant.limits, limits.tenant),
      key: newer(known?.limits, limits.key),
    };
    this.#touch("tenant", newest, this.#tenant, nowMs, atMs);
    this.#tenant.limits = newest.tenant;
    if (newest.key.id === NO_KEY.id) return newest;
    const key = known ?? ownerOf(newest.key);
    // In the order in which they were touched last.
    if (isEndUser(newest.key.id)) this.#keys.delete(newest.key.id);
    this.#keys.set(newest.key.id, key);
    this.#touch("key", newest, key, nowMs, atMs);
    key.limits = newest.key;
    return newest;
  }

  /** Charges the use of a request to the periods in which it started. Call touch before it. */
  charge(limits: BudgetLimits, tags: PeriodTags, used: ActualUsage, nowMs: number): void {
    for (const whose of OWNERS)
      this.#write(whose, limits, nowMs, (account) =>
        this.#period(whose, limits, nowMs).charge(account, tags[whose], used),
      );
  }

  /** Takes the ledger's sum since the start of the period that it was requested for; ignored when that period is over. */
  raise(whose: BudgetOwner, limits: BudgetLimits, asked: LedgerCheck, sum: ActualUsage, nowMs: number): void {
    this.#write(whose, limits, nowMs, (account) => (account.tag === asked.tag ? raiseTo(account, sum) : account));
    const owner = this.#of(whose, limits);
    if (owner !== undefined && isEndUser(limits[whose].id)) owner.checked = asked;
  }

  /** Debits the buckets of a lease of a pool. */
  take(pool: string | null, grant: Amounts): void {
    this.#change([null, pool], (bucket, rate) => bucket.take(amountOf(grant, rate)));
  }

  /** Refills the buckets of these pools, before their outstanding amount changes. */
  refill(pools: Iterable<string | null>, atMs: number): void {
    for (const id of new Set([null, ...pools])) {
      const buckets = id === null ? this.#tenant.buckets : this.#keys.get(id)?.buckets;
      if (buckets) for (const rate of RATE_NAMES) buckets[rate].refill(atMs, this.#out(id, rate));
    }
  }

  /** Adds returned amounts to the buckets, and takes what was used beyond what had been drawn. */
  settle(gains: RateGains): void {
    this.#change(gains.owners, (bucket, rate, id) => bucket.settle(gains.of(id)[rate], this.#out(id, rate)));
  }

  /** What to store of the tenant, and of the keys that changed since the last call. */
  takeChanges(): {
    readonly tenant: Omit<StoredTenant, "checkpoint" | "alerts" | "lives">;
    keys: readonly StoredKey[];
    forgotten: readonly string[];
  } {
    const forgotten = this.#forgetEndUsers();
    const { limits, used: account, buckets } = this.#tenant;
    const rates = stored(buckets);
    const changed = [...this.#keys.values()].filter(({ isChanged }) => isChanged);
    for (const owner of [this.#tenant, ...changed]) owner.isChanged = false;
    this.unsaved = false;
    return {
      tenant: { ...rates.tokens, rates, limits, account },
      keys: changed.map((key) => ({
        limits: key.limits,
        account: key.used,
        ...(key.buckets === null ? {} : { rates: stored(key.buckets) }),
        ...(key.checked === null ? {} : { checked: key.checked }),
      })),
      forgotten,
    };
  }

  /** Forgets end users without outstanding leases, those untouched for the longest time first. */
  #forgetEndUsers(): readonly string[] {
    if (this.#keys.size <= END_USERS_MAX) return [];
    const leased = this.#leases.pools();
    const idle = [...this.#keys.keys()].filter((id) => isEndUser(id) && !leased.has(id));
    const forgotten = idle.slice(0, this.#keys.size - END_USERS_KEPT);
    for (const id of forgotten) this.#keys.delete(id);
    return forgotten;
  }

  /** Changes the buckets of the tenant (null) and of keys, each once. */
  #change(ids: Iterable<string | null>, change: (bucket: HeldBucket, rate: Rate, id: string | null) => void): void {
    for (const id of new Set(ids)) {
      const owner = id === null ? this.#tenant : this.#keys.get(id);
      if (!owner?.buckets) continue;
      for (const rate of RATE_NAMES) change(owner.buckets[rate], rate, id);
      this.#changed(owner);
    }
  }

  #changed(owner: { isChanged: boolean }): void {
    owner.isChanged = true;
    this.unsaved = true;
  }

  #of(whose: BudgetOwner, limits: BudgetLimits): Owner<unknown> | undefined {
    return whose === "tenant" ? this.#tenant : this.#keys.get(limits.key.id);
  }

  #touch(
    whose: BudgetOwner,
    limits: BudgetLimits,
    owner: Owner<TenantLimits | KeyLimits | null>,
    nowMs: number,
    atMs: number,
  ): void {
    const { term, rev } = limits[whose];
    const keyId = whose === "tenant" ? null : limits.key.id;
    const rolled = this.#period(whose, limits, nowMs).roll(owner.used);
    const armed = owner.limits === null ? rolled : rearm(rolled, owner.limits.term, term, rev);
    // Nothing was used: a cap that is exhausted at once needs no warning before that.
    const used = this.#evaluateAlerts(whose, limits, armed, 1, nowMs);
    if (used !== owner.used || rev !== owner.limits?.rev) this.#changed(owner);
    owner.used = used;
    if (owner.buckets === null && isRated(limits[whose]))
      owner.buckets = byRate(() => this.#unknownBucket(keyId, atMs));
    if (owner.buckets === null) return;
    for (const rate of RATE_NAMES) {
      const cap = perMinute(limits[whose], rate);
      if (owner.buckets[rate].touch(cap, atMs, this.#out(keyId, rate))) this.#changed(owner);
    }
  }

  #write(whose: BudgetOwner, limits: BudgetLimits, nowMs: number, change: (account: TermAccount) => TermAccount): void {
    const owner = this.#of(whose, limits);
    if (owner === undefined) return;
    owner.used = this.#evaluateAlerts(whose, limits, change(owner.used), 2, nowMs);
    this.#changed(owner);
  }

  /** Raises the alerts that are due, at most this many, the worst ones. */
  #evaluateAlerts(
    whose: BudgetOwner,
    limits: BudgetLimits,
    given: TermAccount,
    most: number,
    nowMs: number,
  ): TermAccount {
    // Clients can name any number of end users.
    if (isEndUser(limits[whose].id)) return given;
    const { account, levels: due } = raiseAlerts(given, limits[whose].term);
    for (const level of due.slice(-most)) this.#onAlert(budgetAlert(whose, level, limits, account, nowMs));
    return account;
  }

  #period(whose: BudgetOwner, limits: BudgetLimits, nowMs: number): TermPeriod {
    return new TermPeriod(limits[whose].term, limits.tenant.timezone, nowMs, this.#monthOf);
  }

  #out(keyId: string | null, rate: Rate): OutOfBucket {
    return {
      all: () => amountOf(this.#leases.knownOut(keyId), rate),
      unspent: () => amountOf(this.#leases.unspent(keyId), rate),
    };
  }

  #restored(keyId: string | null, rates: StoredBuckets, atMs: number): HeldBuckets {
    const grants = this.#stored.grants.filter(({ pool }) => keyId === null || pool === keyId);
    const granted = grants
      .flatMap(({ leases }) => leases)
      .reduce((sum, { lease }) => plus(sum, lease.granted), NO_AMOUNTS);
    return byRate((rate) => {
      const kept = rates[rate];
      const held = kept === undefined ? this.#unknownBucket(keyId, atMs) : new HeldBucket(kept, atMs);
      const out = this.#out(keyId, rate);
      const { capTokens } = held.stored.bucket;
      // A bucket that is younger than the checkpoint started full.
      const isYounger = capTokens === 0;
      const cap = isYounger ? Math.max(0, ...grants.map((row) => capOf(row, keyId, rate))) : capTokens;
      held.touch(cap, atMs, out);
      // The damaged row may have granted all of it.
      if (this.#stored.untracked) held.take(Math.max(0, held.stored.bucket.levelTokens));
      else if (!isYounger) held.take(amountOf(granted, rate));
      held.keepWithin(out);
      return held;
    });
  }

  /** A bucket without a stored state is new, unless its row cannot be read. */
  #unknownBucket(keyId: string | null, atMs: number): HeldBucket {
    const { untracked, keysUntracked } = this.#stored;
    const isLost = untracked || (keyId !== null && keysUntracked);
    return new HeldBucket({ bucket: isLost ? spentBucket(atMs) : fullBucket(0, atMs), uncoveredTokens: 0 }, atMs);
  }
}

function ownerOf(limits: KeyLimits, used = emptyAccount("")): Owner<KeyLimits> {
  return { limits, used, buckets: null, isChanged: false, checked: null };
}

function levels(buckets: HeldBuckets): OwnedBuckets["tenant"] {
  return byRate((rate) => buckets[rate].stored.bucket);
}

function stored(buckets: HeldBuckets): Required<StoredBuckets> {
  return byRate((rate) => buckets[rate].toStore());
}

/** The cap of a bucket from which leases were granted. */
function capOf({ capTokens, limits }: StoredGrants, keyId: string | null, rate: Rate): number {
  if (limits === undefined) return keyId === null && rate === "tokens" ? capTokens : 0;
  return perMinute(keyId === null ? limits.tenant : limits.key, rate);
}

function newer<T extends { readonly rev: number }>(known: T | null | undefined, heard: T): T {
  return known && known.rev > heard.rev ? known : heard;
}

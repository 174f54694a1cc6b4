/**
 * The authority over the per-minute buckets and term budgets of one tenant and of its keys (docs/rules/budgets.md#one-decision,
 * docs/rules/budgets.md#leases). Decides leases and applies the Cells' reports of them. Deterministic: the same calls at the
 * same times give the same answers; the object around it stores the results and asks the ledger. Invariants: a grant is debited
 * before it is answered; a denial takes nothing; a report counts once; an outstanding lease never returns by time alone.
 * `nowMs` is the reading of the object's clock: it decides period tags; MonotonicClock turns it into the time that measures all
 * durations. A number that is not an amount is refused together with the lease request or lease report that contains it.
 */
import { issues } from "../../../../shared/alerts.ts";
import { AMOUNT_MAX, saturated } from "../../../../shared/money/amount.ts";
import type { BudgetAlert } from "../alerts.ts";
import { type ActualUsage, type Amounts, minus, USED } from "../amounts.ts";
import { type BudgetLimits, type BudgetOwner, LIMITS } from "../limits.ts";
import {
  type BudgetReport,
  LEASE_QUESTION,
  LEASE_REPORT,
  type LeaseAnswer,
  type LeaseRequest,
  type LeaseVerdict,
  REPORT_FRAME,
  type ReportAnswer,
} from "../messages/rpc.ts";
import { MonotonicClock } from "../monotonic-clock.ts";
import { faultIn } from "../shapes.ts";
import type { MonthOf, TermAccount } from "../term-budget.ts";
import type { OwnedBuckets } from "../token-bucket.ts";
import { BudgetOwners } from "./budget-owners.ts";
import { ChargedRequests } from "./charged-requests.ts";
import { type CellLife, GrantedLeases, isOvertaken, newLease, noteAwaited } from "./granted-leases.ts";
import { LeaseReportApplier, voidIn } from "./lease-report-applier.ts";
import { sizeLease } from "./lease-size.ts";
import type { Checkpoint, PlacedLease, StoredGrants, StoredState } from "./stored.ts";

/** How long after a Cell's death its last rows may still be on their way to the ledger. */
export const LEDGER_DELAY_MS = 30_000;

/** The answer to a lease request; `grants` must be stored before it is sent. */
interface LeaseResult {
  readonly answer: LeaseAnswer;
  readonly grants: StoredGrants | null;
}

export class TenantBudgetAuthority {
  readonly #owners: BudgetOwners;
  readonly #charged: ChargedRequests;
  readonly #leases: GrantedLeases;
  readonly #leaseReports: LeaseReportApplier;
  /** By id. Each is kept until it is durable elsewhere. */
  readonly #alerts: Map<string, BudgetAlert>;
  readonly #time = new MonotonicClock();
  /** Leases granted since the last checkpoint, by pool. */
  #granted: Map<string | null, readonly PlacedLease[]>;
  /** The ledger is being asked about leases that were lost until this time. */
  #askedAboutMs = Number.NEGATIVE_INFINITY;
  #checkpoint: number;
  #dirty: boolean;

  constructor(stored: StoredState, monthOf: MonthOf, nowMs: number) {
    const { tenant, grants, untracked } = stored;
    const atMs = this.#time.at(nowMs);
    this.#alerts = new Map((tenant?.alerts ?? []).map((alert) => [alert.id, alert]));
    this.#charged = new ChargedRequests(stored.charged);
    this.#leases = new GrantedLeases(stored, atMs);
    this.#owners = new BudgetOwners(stored, this.#leases, monthOf, (alert) => this.#raise(alert), atMs);
    this.#leaseReports = new LeaseReportApplier(this.#leases, this.#charged);
    this.#checkpoint = tenant?.checkpoint ?? 0;
    this.#granted = new Map(grants.map(({ pool, leases }) => [pool, leases]));
    // A row that cannot be read is replaced.
    this.#dirty = untracked;
  }

  /** True when a checkpoint is due, because a change is not stored. */
  get dirty(): boolean {
    return this.#dirty || this.#leases.unsaved || this.#owners.unsaved;
  }

  get undelivered(): readonly BudgetAlert[] {
    return [...this.#alerts.values()];
  }

  /** Notes that alerts are durable elsewhere. */
  delivered(alerts: readonly BudgetAlert[]): void {
    for (const { id } of alerts) this.#dirty = this.#alerts.delete(id) || this.#dirty;
  }

  /** Applies the report that comes with it, then grants between need and want of every limit at once, or nothing. */
  lease(request: LeaseRequest, nowMs: number): LeaseResult {
    const life = this.#hear(request.report, nowMs);
    const verdict = this.#verdict(request, life, nowMs);
    const { pool, report } = request;
    const leases = verdict.kind === "granted" ? this.#granted.get(pool) : undefined;
    const buckets = this.#owners.bucketsOf(pool);
    const bucket = buckets.tenant.tokens;
    const limits = this.#owners.limitsOf(pool);
    const granted = { pool, checkpoint: this.#checkpoint, capTokens: bucket.capTokens, ...(limits && { limits }) };
    return {
      answer: { report: this.#answer(report, life), verdict, bucket, buckets },
      grants: leases === undefined ? null : { ...granted, leases },
    };
  }

  /** Whether anything is kept of a key. */
  isKnown(keyId: string): boolean {
    return this.#owners.isKnown(keyId);
  }

  /** Whether everything is known that an end user has used in a period, under limits of this revision. */
  isChecked(keyId: string, tag: string, rev: number): boolean {
    return this.#owners.isChecked(keyId, tag, rev);
  }

  /** Applies the new parts of a report. */
  report(report: BudgetReport, nowMs: number): ReportAnswer {
    return this.#answer(report, this.#hear(report, nowMs));
  }

  limitsChanged(limits: BudgetLimits, nowMs: number): void {
    if (!this.#isRefused(faultIn(LIMITS, limits, "limits"), "the limits are as before", nowMs))
      this.#touch(limits, nowMs);
  }

  /** The buckets as of now, under the newest known limits. */
  buckets(limits: BudgetLimits, nowMs: number): OwnedBuckets {
    if (!this.#isRefused(faultIn(LIMITS, limits, "limits"), "its read is as of before", nowMs))
      this.#touch(limits, nowMs);
    return this.#owners.bucketsOf(limits.key.id);
  }

  /** A counter under the newest known limits, and its outstanding leases. */
  read(
    whose: BudgetOwner,
    limits: BudgetLimits,
    nowMs: number,
  ): { readonly limits: BudgetLimits; readonly account: TermAccount; readonly reserved: Amounts } {
    const faulty = this.#isRefused(faultIn(LIMITS, limits, "limits"), "its read is as of before", nowMs);
    const newest = faulty ? limits : this.#touch(limits, nowMs);
    const reserved = this.#leases.leasedOut(whose === "tenant" ? null : limits.key.id);
    return { limits: newest, account: this.#owners.usedOf(whose, newest), reserved };
  }

  /** Takes the ledger's sum since the start of the period `tag`: it can only raise a counter. */
  applyLedgerSum(whose: BudgetOwner, limits: BudgetLimits, tag: string, sum: ActualUsage, nowMs: number): void {
    const fault = faultIn(USED, sum, "used") ?? faultIn(LIMITS, limits, "limits");
    if (this.#isRefused(fault, "what the ledger has is not counted", nowMs)) return;
    this.#owners.raise(whose, this.#touch(limits, nowMs), { tag, rev: limits[whose].rev }, sum, nowMs);
    this.#dirty = true;
  }

  /**
   * The counters whose ledger sums are needed: dead Cells held part of them, and the last rows of those Cells are in the ledger
   * by now. Ask the ledger about all of them, then call {@link ledgerSettled}.
   */
  countersAwaitingLedger(nowMs: number): readonly { readonly whose: BudgetOwner; readonly limits: BudgetLimits }[] {
    this.#askedAboutMs = this.#time.at(nowMs) - LEDGER_DELAY_MS;
    const pools = this.#leases.lostPools(this.#askedAboutMs);
    const keys = [...pools].flatMap((id) => (id === null ? [] : (this.#owners.limitsOf(id) ?? [])));
    const any = keys[0] ?? this.#owners.limitsOf(null);
    if (pools.size === 0 || any === undefined) return [];
    return [{ whose: "tenant", limits: any }, ...keys.map((limits) => ({ whose: "key", limits }) as const)];
  }

  /** The dead Cells of {@link countersAwaitingLedger}: the ledger may be asked once their Ledgers have sent every row. */
  get cellsAwaitingLedger(): readonly string[] {
    return this.#leases.lostCells(this.#askedAboutMs);
  }

  /**
   * Notes that the ledger has answered for the tenant of {@link countersAwaitingLedger}, and for all keys but `unanswered`: what
   * those dead Cells held no longer counts.
   */
  ledgerSettled(unanswered: readonly string[] = []): void {
    this.#leases.ledgerSettled(this.#askedAboutMs, new Set(unanswered));
    this.#dirty = true;
  }

  /** Takes Cells for dead that have been silent for too long. */
  tick(nowMs: number): void {
    const atMs = this.#time.at(nowMs);
    this.#leases.declareLost(atMs, (pools) => this.#owners.refill(pools, atMs));
  }

  /**
   * When to call {@link tick} or {@link countersAwaitingLedger}, by the last reading of the clock; null: not before the next
   * message.
   */
  nextWakeMs(): number | null {
    // A damaged disk may have no limits: then there is no counter to ask about, and the next message brings limits.
    const lostMs = this.#owners.limitsOf(null) === undefined ? null : this.#leases.oldestLossMs();
    const times = [lostMs === null ? null : lostMs + LEDGER_DELAY_MS, this.#leases.nextLossMs()];
    const all = times.filter((atMs) => atMs !== null);
    return all.length === 0 ? null : this.#time.clockAt(Math.min(...all));
  }

  /** The changes since the last checkpoint, to be stored at once: after this call Cells are told that they are stored. */
  checkpoint(): Checkpoint {
    this.#dirty = false;
    // A damaged row can have the largest number.
    this.#checkpoint = this.#checkpoint < AMOUNT_MAX ? this.#checkpoint + 1 : 1;
    this.#granted = new Map();
    const { tenant, keys, forgotten } = this.#owners.takeChanges();
    const [alerts, lives] = [this.undelivered, this.#leases.toStore()];
    return {
      tenant: { checkpoint: this.#checkpoint, ...tenant, alerts, lives },
      keys,
      forgotten,
      charged: this.#charged.takeChanged(),
    };
  }

  #verdict(request: LeaseRequest, life: CellLife | null, nowMs: number): LeaseVerdict {
    const field = faultIn(REPORT_FRAME, request.report, "report") ?? faultIn(LEASE_QUESTION, request);
    if (field !== null) {
      this.#isRefused(field, "nothing is granted", nowMs);
      return { kind: "invalid", field };
    }
    const limits = this.#touch(request.limits, nowMs);
    return life === null ? { kind: "stale" } : this.#decide(request, limits, life, this.#time.at(nowMs));
  }

  #decide(request: LeaseRequest, limits: BudgetLimits, life: CellLife, atMs: number): LeaseVerdict {
    const { n, pool } = request;
    const known = life.leases.get(n);
    if (known?.answered && !known.ended && !known.settled) {
      return { kind: "granted", grant: known.granted, ...known.answered };
    }
    const reason = life.awaited.get(n);
    if (reason === undefined || isOvertaken(life, pool, n) || !this.#leases.isNewest(life)) return { kind: "stale" };
    if (reason !== null) return { kind: "refused", reason };
    const verdict = sizeLease(request, limits, this.#owners, (keyId) => this.#leases.leasedOut(keyId));
    if (verdict.kind === "refused") {
      life.awaited.set(n, verdict.reason);
      return verdict;
    }
    life.awaited.delete(n);
    const { grant, ttlMs, ample } = verdict;
    this.#owners.take(pool, grant);
    const granted = { ...newLease(n, pool, grant), untilMs: atMs + ttlMs, answered: { ttlMs, ample } };
    // Near a limit the waiting request draws its need at once, and a report returns what it does not use.
    const lease = ample || request.ahead === true ? granted : { ...granted, spare: minus(grant, request.need) };
    life.leases.set(n, lease);
    const placed = { cell: life.cell, life: life.life, lease: { ...lease } };
    this.#granted.set(pool, [...(this.#granted.get(pool) ?? []), placed]);
    this.#dirty = true;
    return verdict;
  }

  /** Null: the life of the Cell is over and forgotten, or the report is invalid. */
  #hear(report: BudgetReport, nowMs: number): CellLife | null {
    if (this.#isRefused(faultIn(REPORT_FRAME, report, "report"), "the report is not applied", nowMs)) return null;
    const isNew = this.#leases.find(report.cell, report.life) === undefined;
    const atMs = this.#time.at(nowMs);
    const refill = (pools: Iterable<string | null>) => this.#owners.refill(pools, atMs);
    const life = this.#leases.heardFrom(report.cell, report.life, atMs, refill);
    if (life === null) return null;
    // Stored before an older life is forgotten: otherwise that life's reports would count again after a crash.
    if (isNew) this.#dirty = true;
    noteAwaited(life, report);
    if (report.sequence <= life.heardN) return life;
    const leases = report.leases.filter(
      (word) => !this.#isRefused(faultIn(LEASE_REPORT, word, "lease"), "the word on a lease is left out", nowMs),
    );
    // A new bucket deducts what is out on lease. Do this before the report changes that amount and returns it to the bucket.
    for (const { limits } of leases.flatMap(({ used }) => used)) this.#touch(limits, nowMs);
    refill([...leases, ...voidIn(life, report)].map(({ pool }) => pool));
    const { gains, charges } = this.#leaseReports.apply(life, { ...report, leases }, atMs);
    for (const { limits, tags, used } of charges) this.#owners.charge(this.#touch(limits, nowMs), tags, used, nowMs);
    this.#owners.settle(gains);
    this.#dirty = true;
    return life;
  }

  #answer({ sequence }: BudgetReport, life: CellLife | null): ReportAnswer {
    // A report that is ignored need not be repeated.
    return { stored: life === null ? saturated(sequence) : life.storedN, alerts: [] };
  }

  #touch(limits: BudgetLimits, nowMs: number): BudgetLimits {
    return this.#owners.touch(limits, nowMs, this.#time.at(nowMs));
  }

  /** Raises the alert of a fault; false if there is none. */
  #isRefused(field: string | null, consequence: string, nowMs: number): boolean {
    if (field === null) return false;
    const issue = issues.budgetAmountRefused("budget object", field, consequence);
    // The time makes it another alert when it happens again after this one has left.
    const waits = this.undelivered.some(({ issueKey }) => issueKey === issue.issueKey);
    if (!waits) this.#raise({ id: `${issue.issueKey}@${nowMs}`, ...issue });
    return true;
  }

  #raise(alert: BudgetAlert): void {
    this.#alerts.set(alert.id, alert);
    this.#dirty = true;
  }
}

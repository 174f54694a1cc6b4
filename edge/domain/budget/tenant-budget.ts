/**
 * The authority over one tenant's per-minute bucket and term budgets, and over those of its keys (decisions §19, design
 * §7). Decides leases and applies settlements. Deterministic: the same calls at the same times give the same answers;
 * the shell stores what it is told to and asks the ledger. Invariants: what is granted is debited before it is
 * answered; a denial takes nothing; a batch counts once; what is out on lease never comes back by time alone.
 */
import type { BudgetAlert } from "./alerts.ts";
import { type Actual, type Amounts, minus, NOTHING, plus } from "./amounts.ts";
import type { Batch, LeaseAnswer, LeaseRequest, LeaseVerdict, Report, ReportAnswer, SettleLine } from "./api.ts";
import { Counters, type Whose } from "./counters.ts";
import { type EpochState, type Holdings, NO_HOLDING } from "./holdings.ts";
import { type LeaseRoom, sizeLease } from "./lease-size.ts";
import type { BudgetLimits } from "./limits.ts";
import { grantRow, restore, storedEpoch } from "./restore.ts";
import type { Checkpoint, GrantRow, StoredState } from "./stored.ts";
import { isClosed, type MonthOf, roomIn, type TermAccount } from "./term-budget.ts";
import { adjustBucket, type TokenBucket, touchBucket } from "./token-bucket.ts";

/** How long after a cell's death its last rows may still be on their way to the ledger. */
const LEDGER_DELAY_MS = 30_000;
/** An alert that a cell was told of is told to no other for this long after its last word: that one sees to it. */
const ALERT_HELD_MS = 60_000;

/** A lease's answer; `grant` must be stored before it leaves. */
export interface Leased {
  readonly answer: LeaseAnswer;
  readonly grant: GrantRow | null;
}

export class TenantBudgetCore {
  readonly #counters: Counters;
  readonly #holdings: Holdings;
  readonly #alerts: Map<string, BudgetAlert>;
  /** By alert: the cell that sees to it. */
  readonly #alertsHeld = new Map<string, { readonly cell: string; readonly untilMs: number }>();
  readonly #dirtyEpochs = new Set<EpochState>();
  #bucket: TokenBucket;
  #dirty = false;

  constructor(stored: StoredState, monthOf: MonthOf, nowMs: number) {
    const { bucket, holdings } = restore(stored, nowMs);
    this.#bucket = bucket;
    this.#holdings = holdings;
    this.#counters = new Counters(monthOf, stored.tenant, stored.keys);
    this.#alerts = new Map(stored.tenant?.alerts.map((alert) => [alert.id, alert]));
  }

  /** Whether a checkpoint is due: something changed that is not stored. */
  get dirty(): boolean {
    return this.#dirty;
  }

  /** Applies the report that rides along, then grants between need and want of every limit at once, or nothing. */
  lease(request: LeaseRequest, nowMs: number): Leased {
    const epoch = this.#hear(request.report, nowMs);
    const limits = this.#touch(request.limits, nowMs);
    const verdict: LeaseVerdict = epoch === null ? { kind: "stale" } : this.#decide(request, limits, epoch, nowMs);
    return {
      answer: { report: this.#answer(request.report, epoch, nowMs), verdict, bucket: this.#bucket },
      grant:
        epoch === null || verdict.kind !== "granted" ? null : grantRow(epoch, request.purse, this.#bucket.capTokens),
    };
  }

  /** Applies what the object does not have yet, in order; a gap leaves it where it is and asks for the rest. */
  settle(report: Report, nowMs: number): ReportAnswer {
    return this.#answer(report, this.#hear(report, nowMs), nowMs);
  }

  /** The bucket as of now, under the newest cap heard. */
  bucket(limits: BudgetLimits, nowMs: number): TokenBucket {
    this.#touch(limits, nowMs);
    return this.#bucket;
  }

  /** A counter under the newest limits heard, and what is out on lease of it. */
  read(
    whose: Whose,
    limits: BudgetLimits,
    nowMs: number,
  ): { readonly limits: BudgetLimits; readonly account: TermAccount; readonly reserved: Amounts } {
    const newest = this.#touch(limits, nowMs);
    const reserved = whose === "tenant" ? this.#holdings.tenantOut : this.#holdings.keyOut(limits.key.id);
    return { limits: newest, account: this.#counters.read(whose, newest), reserved };
  }

  /** What the ledger has since the period `tag` began: it can only raise a counter. */
  ledgerSays(whose: Whose, limits: BudgetLimits, tag: string, sum: Actual, nowMs: number): void {
    this.#counters.raise(whose, this.#touch(limits, nowMs), tag, sum);
    this.#dirty = true;
  }

  /** The counters whose ledger sums are wanted, because dead cells held something of them and their last rows are in. */
  awaitsLedger(nowMs: number): readonly { readonly whose: Whose; readonly limits: BudgetLimits }[] {
    const lost = this.#holdings.lostBefore(nowMs - LEDGER_DELAY_MS);
    const purses = new Set(lost.flatMap((state) => [...state.holdings.keys()]));
    const keys = [...purses].flatMap((id) => (id === null ? [] : (this.#counters.limitsOf(id) ?? [])));
    const any = keys[0] ?? this.#counters.limitsOf(null);
    if (lost.length === 0 || any === undefined) return [];
    return [{ whose: "tenant", limits: any }, ...keys.map((limits) => ({ whose: "key", limits }) as const)];
  }

  /** The ledger was asked at `askedAtMs` about all that awaited it then: what dead cells held counts no longer. */
  ledgerSettled(askedAtMs: number): void {
    for (const state of this.#holdings.lostBefore(askedAtMs - LEDGER_DELAY_MS)) {
      this.#holdings.clear(state);
      this.#mark(state);
    }
  }

  /** Takes silent cells for dead. */
  tick(nowMs: number): void {
    this.#holdings.bury(nowMs);
  }

  /** When {@link tick} or {@link awaitsLedger} may next find something; null: not before the next message. */
  nextWakeMs(): number | null {
    // After a crash that left no limits behind there is nobody to ask about; the next message brings some.
    const known = this.#counters.limitsOf(null) !== undefined;
    const lost = known
      ? this.#holdings.lostBefore(Infinity).map(({ lostAtMs }) => (lostAtMs ?? 0) + LEDGER_DELAY_MS)
      : [];
    const burial = this.#holdings.nextBurialMs();
    const all = burial === null ? lost : [...lost, burial];
    return all.length === 0 ? null : Math.min(...all);
  }

  /** The changes since the last one. When it is stored, hand it to {@link stored}: Cells may then forget their batches. */
  checkpoint(): Checkpoint {
    const forgotten = this.#holdings.forgetEmpty();
    const gone = new Set(forgotten);
    const epochs = [...this.#dirtyEpochs].filter((state) => !gone.has(state)).map(storedEpoch);
    this.#dirtyEpochs.clear();
    this.#dirty = false;
    const { tenant: limits, account } = this.#counters;
    return {
      tenant: { bucket: this.#bucket, limits, account, alerts: [...this.#alerts.values()] },
      keys: this.#counters.takeDirtyKeys(),
      epochs,
      forgotten: forgotten.map(({ cell, epoch }) => ({ cell, epoch })),
    };
  }

  stored(checkpoint: Checkpoint): void {
    for (const { cell, epoch, applied } of checkpoint.epochs) {
      const state = this.#holdings.find(cell, epoch);
      if (state !== undefined) state.durable = Math.max(state.durable, applied);
    }
  }

  #decide(request: LeaseRequest, limits: BudgetLimits, epoch: EpochState, nowMs: number): LeaseVerdict {
    if (epoch.applied < request.report.through) return { kind: "behind" };
    const holding = epoch.holdings.get(request.purse) ?? NO_HOLDING;
    if (request.n === holding.newestN && request.n === holding.last?.n && holding.openUntilMs !== null) {
      return { kind: "granted", grant: holding.last.grant, ttlMs: holding.last.ttlMs };
    }
    if (request.n <= holding.newestN || epoch.epoch < this.#holdings.newestEpoch(epoch.cell)) return { kind: "stale" };
    const room = this.#room(request, limits);
    if (room.kind === "refused") return room;
    const { grant, ttlMs } = sizeLease(request.need, request.want, room);
    this.#bucket = adjustBucket(this.#bucket, -grant.bucketTokens);
    this.#holdings.put(epoch, request.purse, {
      ...holding,
      granted: plus(holding.granted, grant),
      last: { n: request.n, grant, ttlMs },
      newestN: request.n,
      openUntilMs: nowMs + ttlMs,
    });
    this.#mark(epoch);
    return { kind: "granted", grant, ttlMs };
  }

  /** What every limit still has, or the first that refuses: bucket, key, tenant (decisions §19.3). */
  #room(request: LeaseRequest, limits: BudgetLimits): LeaseRoom | (LeaseVerdict & { readonly kind: "refused" }) {
    const { capTokens, levelTokens } = this.#bucket;
    if (capTokens > 0 && levelTokens < request.need.bucketTokens) return { kind: "refused", reason: "rate" };
    const tenantOut = this.#holdings.tenantOut;
    const tenant = this.#counters.read("tenant", limits);
    let room = roomIn(tenant, limits.tenant.term, tenantOut);
    if (request.purse !== null) {
      const keyOut = this.#holdings.keyOut(request.purse);
      const key = this.#counters.read("key", limits);
      if (isClosed(key, limits.key.term, keyOut)) return { kind: "refused", reason: "key" };
      const own = roomIn(key, limits.key.term, keyOut);
      room = { tokens: Math.min(room.tokens, own.tokens), nanoUsd: Math.min(room.nanoUsd, own.nanoUsd) };
    }
    if (isClosed(tenant, limits.tenant.term, tenantOut)) return { kind: "refused", reason: "tenant" };
    return { kind: "room", bucketTokens: capTokens === 0 ? Infinity : levelTokens, ...room };
  }

  #hear(report: Report, nowMs: number): EpochState | null {
    for (const id of report.alertsSeen) {
      this.#alertsHeld.delete(id);
      if (this.#alerts.delete(id)) this.#dirty = true;
    }
    const epoch = this.#holdings.hear(report.cell, report.epoch, report.base, nowMs);
    if (epoch === null) return null;
    epoch.applied = Math.max(epoch.applied, report.base);
    for (const batch of report.batches) {
      if (batch.sequence === epoch.applied + 1) this.#apply(batch, epoch, nowMs);
    }
    return epoch;
  }

  #answer(report: Report, epoch: EpochState | null, nowMs: number): ReportAnswer {
    // A life of a cell that is over and accounted for: its numbers are forgotten, so it is told that all is well.
    const { applied, durable } = epoch ?? { applied: report.through, durable: report.through };
    return { applied, durable, alerts: this.#alertsFor(report.cell, nowMs) };
  }

  /** Those that no other cell sees to: from now on this one does. */
  #alertsFor(cell: string, nowMs: number): readonly BudgetAlert[] {
    const own = [...this.#alerts.values()].filter(({ id }) => {
      const held = this.#alertsHeld.get(id);
      return held === undefined || held.cell === cell || held.untilMs <= nowMs;
    });
    for (const { id } of own) this.#alertsHeld.set(id, { cell, untilMs: nowMs + ALERT_HELD_MS });
    return own;
  }

  #apply(batch: Batch, epoch: EpochState, nowMs: number): void {
    for (const line of batch.lines) this.#settleLine(line, epoch, nowMs);
    for (const end of batch.ends) {
      const holding = epoch.holdings.get(end.purse) ?? NO_HOLDING;
      if (end.n < holding.newestN) continue;
      // A grant that nobody heard of was never made: unlike a release, that must outlive a crash with the next grant.
      const unheard = end.void && holding.last?.n === end.n ? holding.last.grant : NOTHING;
      const granted = minus(holding.granted, unheard);
      this.#holdings.put(epoch, end.purse, { ...holding, granted, newestN: end.n, openUntilMs: null });
      this.#bucket = adjustBucket(this.#bucket, unheard.bucketTokens);
    }
    epoch.applied = batch.sequence;
    this.#mark(epoch);
  }

  #settleLine(line: SettleLine, epoch: EpochState, nowMs: number): void {
    const limits = this.#touch(line.limits, nowMs);
    if (line.kind === "adopted") {
      for (const older of this.#holdings.adopt(epoch, line.purse, line.released)) this.#mark(older);
      return;
    }
    if (line.kind === "lost") {
      this.#mark(this.#holdings.lose(epoch, line.purse, line.released, nowMs));
      return;
    }
    this.#holdings.release(epoch, line.purse, line.released);
    if (line.kind === "doubled") return;
    this.#bucket = adjustBucket(this.#bucket, line.released.bucketTokens - line.used.tokens);
    if (line.used.tokens === 0 && line.used.nanoUsd === 0) return;
    for (const alert of this.#counters.charge(limits, line.tags, line.used)) this.#alerts.set(alert.id, alert);
  }

  #touch(limits: BudgetLimits, nowMs: number): BudgetLimits {
    const newest = this.#counters.touch(limits, nowMs);
    this.#bucket = touchBucket(this.#bucket, newest.tenant.tokensPerMinute, nowMs);
    return newest;
  }

  #mark(epoch: EpochState): void {
    this.#dirtyEpochs.add(epoch);
    this.#dirty = true;
  }
}

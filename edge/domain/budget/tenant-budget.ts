/**
 * The authority over one tenant's per-minute bucket and term budgets, and over those of its keys (decisions §19, design
 * §7). Decides leases and applies settlements. Deterministic: the same calls at the same times give the same answers;
 * the shell stores what it is told to and asks the ledger. Invariants: what is granted is debited before it is
 * answered; a denial takes nothing; a batch counts once; what is out on lease never comes back by time alone. `nowMs` is what
 * the object's clock shows: it decides period tags, and SteadyTime makes of it the time by which everything else lasts. A
 * number that is no amount is refused with the ask, or the line, that it is part of.
 */
import { type Actual, type Amounts, NOTHING } from "./amounts.ts";
import type { Batch, LeaseAnswer, LeaseRequest, LeaseVerdict, Report, ReportAnswer, SettleLine } from "./api.ts";
import { ChargedRequests } from "./charged-requests.ts";
import { faultInAsk, faultInLimits, faultInLine, faultInReport, faultInUsed } from "./checks.ts";
import { Counters, type Whose } from "./counters.ts";
import { type EpochState, type Holdings, NO_HOLDING } from "./holdings.ts";
import { leaseRoom } from "./lease-room.ts";
import { sizeLease } from "./lease-size.ts";
import type { BudgetLimits } from "./limits.ts";
import { grantRow, restore, storedEpoch } from "./restore.ts";
import { SteadyTime } from "./steady-time.ts";
import type { Checkpoint, GrantRow, StoredState } from "./stored.ts";
import { TenantBucket } from "./tenant-bucket.ts";
import type { MonthOf, TermAccount } from "./term-budget.ts";
import type { TokenBucket } from "./token-bucket.ts";
import { addTotals, subtractTotals, totalsOf } from "./totals.ts";
import { UntoldAlerts } from "./untold-alerts.ts";

/** How long after a cell's death its last rows may still be on their way to the ledger. */
const LEDGER_DELAY_MS = 30_000;

/** A lease's answer; `grant` must be stored before it leaves. */
export interface Leased {
  readonly answer: LeaseAnswer;
  readonly grant: GrantRow | null;
}

export class TenantBudgetCore {
  readonly #counters: Counters;
  readonly #holdings: Holdings;
  readonly #alerts: UntoldAlerts;
  readonly #dirtyEpochs = new Set<EpochState>();
  readonly #charged: ChargedRequests;
  readonly #time = new SteadyTime();
  /** The dead that the ledger is being asked about, and since when they are. */
  #askedAbout = new Map<EpochState, number | null>();
  readonly #bucket: TenantBucket;
  #dirty = false;

  constructor(stored: StoredState, monthOf: MonthOf, nowMs: number) {
    const restored = restore(stored, this.#time.at(nowMs));
    this.#bucket = new TenantBucket(restored);
    this.#holdings = restored.holdings;
    this.#counters = new Counters(monthOf, stored.tenant, stored.keys);
    this.#alerts = new UntoldAlerts(stored.tenant?.alerts ?? []);
    this.#charged = new ChargedRequests(stored.charged);
  }

  /** Whether a checkpoint is due: something changed that is not stored. */
  get dirty(): boolean {
    return this.#dirty;
  }

  /** Applies the report that rides along, then grants between need and want of every limit at once, or nothing. */
  lease(request: LeaseRequest, nowMs: number): Leased {
    const epoch = this.#hear(request.report, nowMs);
    const verdict = this.#verdict(request, epoch, nowMs);
    const atMs = this.#time.at(nowMs);
    return {
      answer: { report: this.#answer(request.report, epoch, atMs), verdict, bucket: this.#bucket.level },
      grant:
        epoch === null || verdict.kind !== "granted"
          ? null
          : grantRow(epoch, request.purse, this.#bucket.level.capTokens),
    };
  }

  /** Applies what the object does not have yet, in order; a gap leaves it where it is and asks for the rest. */
  settle(report: Report, nowMs: number): ReportAnswer {
    const epoch = this.#hear(report, nowMs);
    return this.#answer(report, epoch, this.#time.at(nowMs));
  }

  /** The bucket as of now, under the newest cap heard. */
  bucket(limits: BudgetLimits, nowMs: number): TokenBucket {
    if (!this.#isRefused(faultInLimits(limits), "its read is as of before", nowMs)) this.#touch(limits, nowMs);
    return this.#bucket.level;
  }

  /** A counter under the newest limits heard, and what is out on lease of it. */
  read(
    whose: Whose,
    limits: BudgetLimits,
    nowMs: number,
  ): { readonly limits: BudgetLimits; readonly account: TermAccount; readonly reserved: Amounts } {
    const faulty = this.#isRefused(faultInLimits(limits), "its read is as of before", nowMs);
    const newest = faulty ? limits : this.#touch(limits, nowMs);
    const reserved = whose === "tenant" ? this.#holdings.tenantOut : this.#holdings.keyOut(limits.key.id);
    return { limits: newest, account: this.#counters.read(whose, newest), reserved };
  }

  /** What the ledger has since the period `tag` began: it can only raise a counter. */
  ledgerSays(whose: Whose, limits: BudgetLimits, tag: string, sum: Actual, nowMs: number): void {
    const fault = faultInUsed(sum) ?? faultInLimits(limits);
    if (this.#isRefused(fault, "what the ledger has is not counted", nowMs)) return;
    this.#counters.raise(whose, this.#touch(limits, nowMs), tag, sum);
    this.#dirty = true;
  }

  /**
   * The counters whose ledger sums are wanted, because dead cells held something of them and their last rows are in. Ask the
   * ledger about all of them, then call {@link ledgerSettled}.
   */
  awaitsLedger(nowMs: number): readonly { readonly whose: Whose; readonly limits: BudgetLimits }[] {
    const lost = this.#holdings.lostBefore(this.#time.at(nowMs) - LEDGER_DELAY_MS);
    this.#askedAbout = new Map(lost.map((state) => [state, state.lostAtMs]));
    const purses = new Set(lost.flatMap((state) => [...state.holdings.keys()]));
    const keys = [...purses].flatMap((id) => (id === null ? [] : (this.#counters.limitsOf(id) ?? [])));
    const any = keys[0] ?? this.#counters.limitsOf(null);
    if (lost.length === 0 || any === undefined) return [];
    return [{ whose: "tenant", limits: any }, ...keys.map((limits) => ({ whose: "key", limits }) as const)];
  }

  /** The ledger has said everything that {@link awaitsLedger} wanted: what those dead cells held counts no longer. */
  ledgerSettled(): void {
    for (const [state, lostAtMs] of this.#askedAbout) {
      // One that was heard of meanwhile lives, or has lost more since: it is asked about again.
      if (state.lostAtMs === null || state.lostAtMs !== lostAtMs) continue;
      this.#holdings.clear(state);
      this.#mark(state);
    }
    this.#askedAbout.clear();
  }

  /** Takes silent cells for dead. */
  tick(nowMs: number): void {
    this.#holdings.bury(this.#time.at(nowMs));
  }

  /** When the clock, as shown last, calls for {@link tick} or {@link awaitsLedger}; null: not before the next message. */
  nextWakeMs(): number | null {
    // After a crash that left no limits behind there is nobody to ask about; the next message brings some.
    const known = this.#counters.limitsOf(null) !== undefined;
    const lost = known
      ? this.#holdings.lostBefore(Infinity).map(({ lostAtMs }) => (lostAtMs ?? 0) + LEDGER_DELAY_MS)
      : [];
    const burial = this.#holdings.nextBurialMs();
    const all = burial === null ? lost : [...lost, burial];
    return all.length === 0 ? null : this.#time.clockAt(Math.min(...all));
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
      tenant: {
        bucket: this.#bucket.level,
        uncoveredTokens: this.#bucket.uncoveredTokens,
        limits,
        account,
        alerts: this.#alerts.all,
      },
      charged: this.#charged.takeChanged(),
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

  #verdict(request: LeaseRequest, epoch: EpochState | null, nowMs: number): LeaseVerdict {
    const field = faultInReport(request.report) ?? faultInAsk(request);
    if (field !== null) {
      this.#isRefused(field, "nothing is granted", nowMs);
      return { kind: "invalid", field };
    }
    const limits = this.#touch(request.limits, nowMs);
    return epoch === null ? { kind: "stale" } : this.#decide(request, limits, epoch, this.#time.at(nowMs));
  }

  #decide(request: LeaseRequest, limits: BudgetLimits, epoch: EpochState, atMs: number): LeaseVerdict {
    if (epoch.applied < request.report.through) return { kind: "behind" };
    const holding = epoch.holdings.get(request.purse) ?? NO_HOLDING;
    if (request.n === holding.newestN && request.n === holding.last?.n && holding.openUntilMs !== null) {
      return { kind: "granted", grant: holding.last.grant, ttlMs: holding.last.ttlMs };
    }
    if (request.n <= holding.newestN || epoch.epoch < this.#holdings.newestEpoch(epoch.cell)) return { kind: "stale" };
    const room = leaseRoom(request, limits, this.#bucket.level, this.#counters, this.#holdings);
    if (room.kind === "refused") return room;
    const { grant, ttlMs } = sizeLease(request.need, request.want, room);
    this.#bucket.take(grant.bucketTokens);
    this.#holdings.put(epoch, request.purse, {
      ...holding,
      granted: addTotals(holding.granted, totalsOf(grant)),
      last: { n: request.n, grant, ttlMs },
      newestN: request.n,
      openUntilMs: atMs + ttlMs,
    });
    this.#mark(epoch);
    return { kind: "granted", grant, ttlMs };
  }

  /** Null: the life of the cell is over and forgotten, or the report is none to go by. */
  #hear(report: Report, nowMs: number): EpochState | null {
    if (this.#isRefused(faultInReport(report), "the report is not applied", nowMs)) return null;
    for (const id of report.alertsSeen) if (this.#alerts.safe(id)) this.#dirty = true;
    const known = this.#holdings.find(report.cell, report.epoch) !== undefined;
    const epoch = this.#holdings.hear(report.cell, report.epoch, report.base, this.#time.at(nowMs));
    if (epoch === null) return null;
    // Stored before an older life is forgotten: else what that one told would count again after a crash.
    if (!known) this.#mark(epoch);
    epoch.applied = Math.max(epoch.applied, report.base);
    for (const batch of report.batches) {
      if (batch.sequence === epoch.applied + 1) this.#apply(batch, epoch, nowMs);
    }
    return epoch;
  }

  #answer(report: Report, epoch: EpochState | null, atMs: number): ReportAnswer {
    // A life of a cell that is over and accounted for: its numbers are forgotten, so it is told that all is well.
    const over = faultInReport(report) === null ? report.through : 0;
    const { applied, durable } = epoch ?? { applied: over, durable: over };
    return { applied, durable, alerts: this.#alerts.tell(report.cell, atMs) };
  }

  #apply(batch: Batch, epoch: EpochState, nowMs: number): void {
    for (const line of batch.lines) this.#settleLine(line, epoch, nowMs);
    for (const end of batch.ends) {
      const holding = epoch.holdings.get(end.purse) ?? NO_HOLDING;
      if (end.n < holding.newestN) continue;
      // A grant that nobody heard of was never made: unlike a release, that must outlive a crash with the next grant.
      const unheard = end.void && holding.last?.n === end.n ? holding.last.grant : NOTHING;
      const granted = subtractTotals(holding.granted, totalsOf(unheard));
      this.#holdings.put(epoch, end.purse, { ...holding, granted, newestN: end.n, openUntilMs: null });
      this.#bucket.settle(unheard.bucketTokens);
    }
    epoch.applied = batch.sequence;
    this.#mark(epoch);
  }

  #settleLine(line: SettleLine, epoch: EpochState, nowMs: number): void {
    // What it reserves stays out, until its cell has ended and the ledger has been asked.
    if (this.#isRefused(faultInLine(line), "the settlement is left out", nowMs)) return;
    const limits = this.#touch(line.limits, nowMs);
    if (line.kind === "adopted") {
      this.#adopt(line, epoch);
      return;
    }
    if (line.kind === "lost") {
      this.#mark(this.#holdings.lose(epoch, line.purse, line.released, this.#time.at(nowMs)));
      return;
    }
    if (line.kind === "doubled") {
      this.#holdings.release(epoch, line.purse, line.released);
      return;
    }
    const { used, returnedTokens, releases } = this.#charged.settled(line, epoch.epoch);
    if (releases) this.#holdings.release(epoch, line.purse, line.released);
    this.#bucket.settle(returnedTokens - used.tokens);
    if (used.tokens === 0 && used.nanoUsd === 0) return;
    for (const alert of this.#counters.charge(limits, line.tags, used, nowMs)) this.#alerts.add(alert);
  }

  #adopt({ purse, released, request }: SettleLine, epoch: EpochState): void {
    const drawn = request === undefined ? "older" : this.#charged.adopted(request.id, epoch.epoch);
    if (drawn === "nowhere") this.#holdings.hold(epoch, purse, released);
    if (drawn !== "older") return;
    for (const older of this.#holdings.adopt(epoch, purse, released)) this.#mark(older);
  }

  #touch(limits: BudgetLimits, nowMs: number): BudgetLimits {
    const newest = this.#counters.touch(limits, nowMs);
    this.#bucket.touch(newest.tenant.tokensPerMinute, this.#time.at(nowMs));
    return newest;
  }

  /** Raises the alert of a fault, if it is one. */
  #isRefused(field: string | null, consequence: string, nowMs: number): boolean {
    if (field === null) return false;
    this.#alerts.addRefused(field, consequence, nowMs);
    this.#dirty = true;
    return true;
  }

  #mark(epoch: EpochState): void {
    this.#dirtyEpochs.add(epoch);
    this.#dirty = true;
  }
}

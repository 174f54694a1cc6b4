/**
 * The authority over one tenant's per-minute bucket and term budgets, and over those of its keys (decisions §19, design
 * §7). Decides leases and applies what Cells report of them. Deterministic: the same calls at the same times give the same
 * answers; the shell stores what it is told to and asks the ledger. Invariants: what is granted is debited before it is
 * answered; a denial takes nothing; a report counts once; what is out on lease never comes back by time alone. `nowMs` is what
 * the object's clock shows: it decides period tags, and SteadyTime makes of it the time by which everything else lasts. A
 * number that is no amount is refused with the ask, or the word on a lease, that it is part of.
 */
import { type Actual, type Amounts, EVERYTHING } from "./amounts.ts";
import type { LeaseAnswer, LeaseReport, LeaseRequest, LeaseVerdict, Report, ReportAnswer } from "./api.ts";
import { ChargedRequests } from "./charged-requests.ts";
import { faultInAsk, faultInLimits, faultInReport, faultInUsed, faultInWord } from "./checks.ts";
import { Counters, type Whose } from "./counters.ts";
import { leaseRoom } from "./lease-room.ts";
import { LEASE_MAX_MS, sizeLease } from "./lease-size.ts";
import { type LeaseChange, LeaseWords } from "./lease-words.ts";
import type { BudgetLimits } from "./limits.ts";
import { type CellLife, newLease, type PlacedLease } from "./outstanding-lease.ts";
import { OutstandingLeases } from "./outstanding-leases.ts";
import { SteadyTime } from "./steady-time.ts";
import type { Checkpoint, StoredGrants, StoredState } from "./stored.ts";
import { TenantBucket } from "./tenant-bucket.ts";
import type { MonthOf, TermAccount } from "./term-budget.ts";
import type { TokenBucket } from "./token-bucket.ts";
import { UntoldAlerts } from "./untold-alerts.ts";

/** How long after a cell's death its last rows may still be on their way to the ledger. */
const LEDGER_DELAY_MS = 30_000;

/** A lease's answer; `grants` must be stored before it leaves. */
export interface Leased {
  readonly answer: LeaseAnswer;
  readonly grants: StoredGrants | null;
}

export class TenantBudgetCore {
  readonly #incarnation: string;
  readonly #counters: Counters;
  readonly #charged: ChargedRequests;
  readonly #leases = new OutstandingLeases();
  readonly #words: LeaseWords;
  readonly #alerts: UntoldAlerts;
  readonly #time = new SteadyTime();
  readonly #bucket: TenantBucket;
  /** Leases granted since the last checkpoint, by pool. */
  #granted: Map<string | null, readonly PlacedLease[]>;
  /** Keys whose leases the last checkpoint has among those of the tenant. */
  #unkeyed: readonly string[];
  /** The lost leases that the ledger is being asked about. */
  #askedAbout: readonly PlacedLease[] = [];
  #checkpoint: number;
  #applied = 0;
  #stored = 0;
  #dirty: boolean;

  /** `incarnation` differs from that of every earlier life of the object. */
  constructor(stored: StoredState, monthOf: MonthOf, incarnation: string, nowMs: number) {
    const { tenant, keys, grants, untracked } = stored;
    const atMs = this.#time.at(nowMs);
    this.#incarnation = incarnation;
    this.#bucket = new TenantBucket(stored, atMs);
    this.#counters = new Counters(monthOf, tenant, keys);
    this.#alerts = new UntoldAlerts(tenant?.alerts ?? []);
    this.#charged = new ChargedRequests(stored.charged);
    this.#words = new LeaseWords(this.#leases, this.#charged);
    this.#checkpoint = tenant?.checkpoint ?? 0;
    for (const { cell, life, askedN, openedN } of tenant?.lives ?? [])
      this.#leases.restoreLife(cell, life, askedN, openedN, atMs);
    const kept = [...(tenant?.leases ?? []), ...keys.flatMap(({ leases }) => leases)];
    for (const placed of [...kept, ...grants.flatMap(({ leases }) => leases)])
      this.#leases.restore(notLaterThan(placed, atMs), atMs);
    for (const pool of untracked) this.#leases.loseTrack(pool, EVERYTHING, atMs);
    this.#granted = new Map(grants.map(({ pool, leases }) => [pool, leases]));
    this.#unkeyed = (tenant?.leases ?? []).flatMap(({ lease }) => lease.pool ?? []);
    // A row that cannot be read is replaced.
    this.#dirty = untracked.length > 0;
  }

  /** Whether a checkpoint is due: something changed that is not stored. */
  get dirty(): boolean {
    return this.#dirty;
  }

  /** Applies the report that rides along, then grants between need and want of every limit at once, or nothing. */
  lease(request: LeaseRequest, nowMs: number): Leased {
    const life = this.#hear(request.report, nowMs);
    const verdict = this.#verdict(request, life, nowMs);
    const { pool, report } = request;
    const leases = verdict.kind === "granted" ? this.#granted.get(pool) : undefined;
    const { level } = this.#bucket;
    return {
      answer: { report: this.#answer(report.cell, nowMs), verdict, bucket: level },
      grants: leases === undefined ? null : { pool, checkpoint: this.#checkpoint, capTokens: level.capTokens, leases },
    };
  }

  /** Applies what the object does not have yet. */
  report(report: Report, nowMs: number): ReportAnswer {
    this.#hear(report, nowMs);
    return this.#answer(report.cell, nowMs);
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
    const reserved = whose === "tenant" ? this.#leases.tenantOut : this.#leases.keyOut(limits.key.id);
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
    const lost = this.#leases.lostBy(this.#time.at(nowMs) - LEDGER_DELAY_MS);
    this.#askedAbout = lost;
    const pools = new Set(lost.map(({ lease }) => lease.pool));
    const keys = [...pools].flatMap((id) => (id === null ? [] : (this.#counters.limitsOf(id) ?? [])));
    const any = keys[0] ?? this.#counters.limitsOf(null);
    if (lost.length === 0 || any === undefined) return [];
    return [{ whose: "tenant", limits: any }, ...keys.map((limits) => ({ whose: "key", limits }) as const)];
  }

  /** The ledger has said everything that {@link awaitsLedger} wanted: what those dead cells held counts no longer. */
  ledgerSettled(): void {
    this.#leases.ledgerSettled(this.#askedAbout);
    this.#askedAbout = [];
    this.#dirty = true;
  }

  /** Takes silent cells for dead. */
  tick(nowMs: number): void {
    this.#leases.bury(this.#time.at(nowMs));
  }

  /** When the clock, as shown last, calls for {@link tick} or {@link awaitsLedger}; null: not before the next message. */
  nextWakeMs(): number | null {
    // After a crash that left no limits behind there is nobody to ask about; the next message brings some.
    const lostMs = this.#counters.limitsOf(null) === undefined ? null : this.#leases.oldestLossMs();
    const times = [lostMs === null ? null : lostMs + LEDGER_DELAY_MS, this.#leases.nextBurialMs()];
    const all = times.filter((atMs) => atMs !== null);
    return all.length === 0 ? null : this.#time.clockAt(Math.min(...all));
  }

  /** The changes since the last one. When it is stored, hand it to {@link stored}: Cells then forget what they repeat. */
  checkpoint(): Checkpoint {
    this.#leases.forgetOver();
    this.#dirty = false;
    this.#checkpoint += 1;
    this.#granted = new Map();
    const pools = this.#leases.takeChangedPools().flatMap((pool) => pool ?? []);
    const keys = [...new Set([...this.#counters.takeDirtyKeys(), ...pools, ...this.#unkeyed])];
    // After a crash there may be leases of keys that nobody has spoken of since: they stay with the tenant's.
    const ofTenant = [...this.#leases.pools()].filter((id) => id === null || this.#counters.key(id) === undefined);
    this.#unkeyed = ofTenant.flatMap((pool) => pool ?? []);
    const { tenant: limits, account } = this.#counters;
    return {
      applied: this.#applied,
      tenant: {
        checkpoint: this.#checkpoint,
        bucket: this.#bucket.level,
        uncoveredTokens: this.#bucket.uncoveredTokens,
        limits,
        account,
        alerts: this.#alerts.all,
        leases: ofTenant.flatMap((pool) => this.#leases.ofPool(pool)),
        lives: this.#leases.lives.map(({ cell, life, askedN, openedN }) => ({ cell, life, askedN, openedN })),
      },
      keys: keys.flatMap((id) => {
        const key = this.#counters.key(id);
        return key === undefined ? [] : [{ ...key, leases: this.#leases.ofPool(id) }];
      }),
      charged: this.#charged.takeChanged(),
    };
  }

  /** A checkpoint is stored. */
  stored({ applied }: Checkpoint): void {
    this.#stored = Math.max(this.#stored, applied);
  }

  #verdict(request: LeaseRequest, life: CellLife | null, nowMs: number): LeaseVerdict {
    const field = faultInReport(request.report) ?? faultInAsk(request);
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
    if (n <= life.askedN || !this.#leases.isNewest(life)) return { kind: "stale" };
    const room = leaseRoom(request, limits, this.#bucket.level, this.#counters, this.#leases);
    if (room.kind === "refused") {
      life.askedN = n;
      return room;
    }
    const { grant, ttlMs, ample } = sizeLease(request.need, request.want, room);
    this.#bucket.take(grant.bucketTokens);
    const lease = { ...newLease(n, pool, grant), untilMs: atMs + ttlMs, answered: { ttlMs, ample } };
    this.#leases.put(life, lease);
    this.#granted.set(pool, [...(this.#granted.get(pool) ?? []), { cell: life.cell, life: life.life, lease }]);
    this.#dirty = true;
    return { kind: "granted", grant, ttlMs, ample };
  }

  /** Null: the life of the cell is over and forgotten, or the report is none to go by. */
  #hear(report: Report, nowMs: number): CellLife | null {
    if (this.#isRefused(faultInReport(report), "the report is not applied", nowMs)) return null;
    for (const id of report.alertsSeen) if (this.#alerts.safe(id)) this.#dirty = true;
    const isNew = this.#leases.find(report.cell, report.life) === undefined;
    const atMs = this.#time.at(nowMs);
    const life = this.#leases.hear(report.cell, report.life, atMs);
    if (life === null) return null;
    // Stored before an older life is forgotten: else what that one told would count again after a crash.
    if (isNew) this.#dirty = true;
    const sound = report.leases.filter(
      (word: LeaseReport) => !this.#isRefused(faultInWord(word), "the word on a lease is left out", nowMs),
    );
    const changes = this.#words.apply(life, sound, report, atMs);
    if (changes.length > 0) this.#apply(changes, nowMs);
    return life;
  }

  #apply(changes: readonly LeaseChange[], nowMs: number): void {
    let gainTokens = 0;
    for (const { bucketTokens, charges } of changes) {
      gainTokens += bucketTokens;
      for (const { limits, tags, used } of charges) {
        const newest = this.#touch(limits, nowMs);
        gainTokens -= used.tokens;
        for (const alert of this.#counters.charge(newest, tags, used, nowMs)) this.#alerts.add(alert);
      }
    }
    this.#bucket.settle(gainTokens);
    this.#dirty = true;
    this.#applied += 1;
  }

  #answer(cell: string, nowMs: number): ReportAnswer {
    const alerts = this.#alerts.tell(cell, this.#time.at(nowMs));
    return { incarnation: this.#incarnation, applied: this.#applied, stored: this.#stored, alerts };
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
}

/** Times that an earlier life wrote are never later than now: its clock may have been another one, or was ahead. */
function notLaterThan({ cell, life, lease }: PlacedLease, nowMs: number): PlacedLease {
  const untilMs = lease.untilMs === null ? null : Math.min(lease.untilMs, nowMs + LEASE_MAX_MS);
  const lostAtMs = lease.lostAtMs === null ? null : Math.min(lease.lostAtMs, nowMs);
  return { cell, life, lease: { ...lease, untilMs, lostAtMs } };
}

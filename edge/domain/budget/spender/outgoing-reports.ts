/**
 * The leases that one Cell has of a tenant, and what is still to be reported of them to the authority. A report carries the
 * complete state of every lease whose newest state the authority may lack, so it may be lost, repeated or overtaken. A
 * lease is forgotten once it is over and the authority has stored that. Times are of the Cell's MonotonicClock.
 */
import type { BudgetAlert } from "../alerts.ts";
import type { BudgetReport, LeaseRequestEnd, OpenedLease, ReportAnswer } from "../messages/rpc.ts";
import { type Rate, RateGains } from "../rates.ts";
import { CellLease } from "./cell-lease.ts";

/** After this time without a report, the authority is asked whether it has stored what it applied. */
const CONFIRM_MS = 10_000;
/** A Cell with outstanding leases reports at least this often, to show that it lives. */
const HEARTBEAT_MS = 60_000;
const RETRY_MS = 1_000;
const ALERTS_REMEMBERED = 1_000;

/** Which Cell holds the leases, and how it numbers them. */
export interface LeaseHolder {
  readonly cell: string;
  /**
   * The life of the Cell, counted on its disk; larger than all earlier ones, whatever clocks show
   * (docs/rules/budgets.md#lives-of-a-cell).
   */
  readonly life: number;
  /** Returns a number, of a lease or of a change, that is larger than all it returned before in this life. */
  readonly nextN: () => number;
}

/** What the buckets of a tenant gained, and those of the key whose pool it is. */
interface GainsOfPool {
  readonly tenant: Readonly<Record<Rate, number>>;
  readonly key: Readonly<Record<Rate, number>> | null;
}

export class OutgoingReports {
  readonly #lessee: LeaseHolder;
  readonly #leases = new Map<number, CellLease>();
  /** Number of the newest change, and of the newest change that a message has reported. */
  changedN = 0;
  reportedN = 0;
  /** Number of the newest change that the authority has received, and of the newest that it has stored. */
  #heardN = 0;
  #storedN = 0;
  /** What buckets gain (or lose) by all changes made here. */
  readonly gains = new RateGains();
  /** Since when the authority has not answered; null while it answers. */
  failingSinceMs: number | null = null;
  readonly #gainsIn = new WeakMap<BudgetReport, GainsOfPool>();
  #dueMs: number | null = null;
  #lastTalkMs = 0;
  #retryMs: number | null = null;
  /** Alerts that were received, and whether each is durable elsewhere. */
  readonly #alertsSeen = new Map<string, boolean>();
  readonly #alertsToAck = new Set<string>();
  /** A report is under way. Lease requests carry reports as well and do not count here. */
  isReporting = false;

  constructor(lessee: LeaseHolder) {
    this.#lessee = lessee;
  }

  /** True when no lease is outstanding, and everything has been reported and stored. */
  get empty(): boolean {
    return this.#leases.size === 0 && this.#alertsToAck.size === 0 && !this.isReporting;
  }

  /** Adds a lease that is about to be requested, or that the Cell opens itself. */
  begin(
    nowMs: number,
    pool: string | null,
    opened: OpenedLease | null = null,
    request: LeaseRequestEnd | null = null,
  ): CellLease {
    if (this.#leases.size === 0) this.#lastTalkMs = nowMs;
    const lease = new CellLease(this.#lessee.nextN(), pool, opened, request);
    this.#leases.set(lease.n, lease);
    return lease;
  }

  /** Removes a lease whose request was not granted: there is nothing to report. */
  drop(lease: CellLease): void {
    this.#leases.delete(lease.n);
  }

  /** How much of {@link gains} a report of this life included, of the tenant's buckets and of those of its pool. */
  gainsReportedIn(report: BudgetReport, pool: string | null): GainsOfPool {
    return this.#gainsIn.get(report) ?? this.#gainsOf(pool);
  }

  /** Records that a lease changed; to be reported by `dueMs`. */
  changed(lease: CellLease, dueMs: number): void {
    this.changedN = this.#lessee.nextN();
    lease.changedN = this.changedN;
    this.#due(dueMs);
  }

  /** A message with everything that the authority may not have stored; `pool`: whose lease it asks for. */
  report(nowMs: number, pool: string | null = null): BudgetReport {
    this.#lastTalkMs = nowMs;
    this.#dueMs = null;
    const leases = [...this.#leases.values()];
    const { cell, life } = this.#lessee;
    const report = {
      cell,
      life,
      sequence: this.changedN,
      leases: leases
        .filter((lease) => lease.granted !== null && lease.changedN > this.#storedN)
        .map(({ report }) => report),
      open: leases.filter((lease) => lease.opened === null && !lease.void).map(({ n }) => n),
      alertsSeen: [...this.#alertsToAck],
    };
    this.reportedN = this.changedN;
    this.#gainsIn.set(report, this.#gainsOf(pool));
    return report;
  }

  /**
   * Takes the answer to any message, null: there was none. Returns the alerts that are new. Answers may come in any order.
   */
  answered({ sequence, alertsSeen }: BudgetReport, answer: ReportAnswer | null, nowMs: number): readonly BudgetAlert[] {
    if (answer === null) {
      this.failingSinceMs ??= nowMs;
      this.#retryMs = nowMs + RETRY_MS;
      if (this.#leases.size > 0) this.#due(this.#retryMs);
      return [];
    }
    const { stored, alerts } = answer;
    this.#lastTalkMs = nowMs;
    this.#retryMs = null;
    this.failingSinceMs = null;
    this.#heardN = Math.max(this.#heardN, sequence);
    if (stored > this.#storedN) {
      this.#storedN = stored;
      for (const lease of this.#leases.values())
        if (lease.over && lease.changedN <= stored) this.#leases.delete(lease.n);
    }
    for (const id of alertsSeen) this.#alertsToAck.delete(id);
    return this.#freshAmong(alerts);
  }

  /** Notes that the alert will arrive even if this Cell is lost: the authority need not keep it. */
  alertDelivered(id: string): void {
    this.#alertsSeen.set(id, true);
    this.#alertsToAck.add(id);
  }

  /** When a report should leave; null: nothing to report, or a report is under way. */
  nextMs(): number | null {
    if (this.isReporting) return null;
    const confirms = this.#alertsToAck.size > 0 || this.#heardN > this.#storedN;
    const waits = confirms ? CONFIRM_MS : this.#leases.size > 0 ? HEARTBEAT_MS : null;
    const times = [this.#dueMs, waits === null ? null : this.#lastTalkMs + waits].filter((at) => at !== null);
    return times.length === 0 ? null : Math.max(Math.min(...times), this.#retryMs ?? Number.NEGATIVE_INFINITY);
  }

  #gainsOf(pool: string | null): GainsOfPool {
    return { tenant: { ...this.gains.of(null) }, key: pool === null ? null : { ...this.gains.of(pool) } };
  }

  #freshAmong(alerts: readonly BudgetAlert[]): readonly BudgetAlert[] {
    const fresh = alerts.filter((alert) => !this.#alertsSeen.has(alert.id));
    for (const { id } of alerts) {
      const safe = this.#alertsSeen.get(id) ?? false;
      this.#alertsSeen.set(id, safe);
      if (safe) this.#alertsToAck.add(id);
    }
    for (const id of this.#alertsSeen.keys()) {
      if (this.#alertsSeen.size <= ALERTS_REMEMBERED) break;
      this.#alertsSeen.delete(id);
    }
    return fresh;
  }

  #due(atMs: number): void {
    this.#dueMs = this.#dueMs === null ? atMs : Math.min(this.#dueMs, atMs);
  }
}

/**
 * The leases that one cell has of a tenant, and what the authority is still to be told of them. A report carries the whole
 * word on every lease of which the authority may lack the newest, so that it may be lost, repeated or overtaken. A lease is
 * forgotten once it is over and the authority has stored that. Times here are of the Cell's SteadyTime.
 */
import type { BudgetAlert } from "./alerts.ts";
import type { Report, ReportAnswer } from "./api.ts";
import { CellLease, type LeaseHead } from "./cell-lease.ts";

/** After so long without a word the authority is asked whether it has stored what it applied. */
const CONFIRM_MS = 10_000;
/** A cell of which leases are out says at least this often that it lives. */
const HEARTBEAT_MS = 60_000;
const RETRY_MS = 1_000;
const ALERTS_REMEMBERED = 1_000;

/** Which cell it is that has leases, and what numbers them. */
export interface Lessee {
  readonly cell: string;
  /** Which life of it, counted on its disk; larger than any before, whatever clocks say (decisions §19.1). */
  readonly life: number;
  /** A number that is larger than any that it answered before in this life. */
  readonly nextN: () => number;
}

export class LeaseReports {
  readonly #lessee: Lessee;
  readonly #leases = new Map<number, CellLease>();
  #dueMs: number | null = null;
  #lastTalkMs = 0;
  #retryMs: number | null = null;
  #failingSinceMs: number | null = null;
  #changes = 0;
  #incarnation: string | null = null;
  /** Alerts that were heard of, and whether they are in hands that outlive this Cell. */
  readonly #alertsSeen = new Map<string, boolean>();
  readonly #alertsToAck = new Set<string>();
  /** A report is under way; asks carry reports as well and do not count here. */
  reporting = false;

  constructor(lessee: Lessee) {
    this.#lessee = lessee;
  }

  /** Since when the authority has not answered; null while it does. */
  get failingSinceMs(): number | null {
    return this.#failingSinceMs;
  }

  /** No lease is out, and everything was said and stored. */
  get empty(): boolean {
    return this.#leases.size === 0 && this.#alertsToAck.size === 0 && !this.reporting;
  }

  /** How often anything changed that the authority is to be told. */
  get changes(): number {
    return this.#changes;
  }

  /** A lease that is about to be asked for, or that is opened without asking. */
  begin(head: LeaseHead, nowMs: number): CellLease {
    if (this.#leases.size === 0) this.#lastTalkMs = nowMs;
    const lease = new CellLease(this.#lessee.nextN(), head);
    this.#leases.set(lease.n, lease);
    return lease;
  }

  /** The ask for it was not granted: there is nothing to tell. */
  drop(lease: CellLease): void {
    this.#leases.delete(lease.n);
  }

  /** Takes note that the lease changed; the authority is told by `dueMs`. */
  changed(lease: CellLease, dueMs: number): void {
    lease.version += 1;
    this.#changes += 1;
    this.#due(dueMs);
  }

  /**
   * A message with everything that the authority may not have stored: should it crash, no later word on one lease may come
   * before the first on an older one.
   */
  report(nowMs: number): Report {
    this.#lastTalkMs = nowMs;
    this.#dueMs = null;
    const leases = [...this.#leases.values()];
    const unstored = leases.filter(({ known, storedVersion, version }) => known && storedVersion !== version);
    return {
      cell: this.#lessee.cell,
      life: this.#lessee.life,
      sequence: this.#lessee.nextN(),
      leases: unstored.map(({ word }) => word),
      open: leases.map(({ n }) => n),
      alertsSeen: [...this.#alertsToAck],
    };
  }

  /** Takes an answer to any message; answers the alerts that are new. Answers may come in any order. */
  answered(report: Report, answer: ReportAnswer, nowMs: number): readonly BudgetAlert[] {
    const { incarnation, applied, stored } = answer;
    this.#lastTalkMs = nowMs;
    this.#retryMs = null;
    this.#failingSinceMs = null;
    // Another life of the authority knows what was stored; whatever was not is said again, but not again and again.
    if (this.#incarnation !== null && this.#incarnation !== incarnation) this.#due(nowMs + RETRY_MS);
    this.#incarnation = incarnation;
    for (const { n, version } of report.leases) {
      const lease = this.#leases.get(n);
      const known = lease?.acknowledged;
      const newer = known?.incarnation !== incarnation || version > known.version;
      if (lease !== undefined && newer) lease.acknowledged = { version, incarnation, applied };
    }
    for (const lease of this.#leases.values()) {
      if (lease.acknowledged !== null && lease.acknowledged.incarnation !== incarnation) lease.acknowledged = null;
      const { acknowledged } = lease;
      if (acknowledged !== null && acknowledged.applied <= stored)
        lease.storedVersion = Math.max(lease.storedVersion, acknowledged.version);
      if (lease.over && lease.storedVersion === lease.version) this.#leases.delete(lease.n);
    }
    for (const id of report.alertsSeen) this.#alertsToAck.delete(id);
    return this.#freshAmong(answer.alerts);
  }

  /** The alert will arrive whatever becomes of this Cell: the authority need not keep it. */
  alertSafe(id: string): void {
    this.#alertsSeen.set(id, true);
    this.#alertsToAck.add(id);
  }

  failed(nowMs: number): void {
    this.#failingSinceMs ??= nowMs;
    this.#retryMs = nowMs + RETRY_MS;
    if (this.#leases.size > 0) this.#due(this.#retryMs);
  }

  /** When a report should leave; null: nothing to say, or one is under way. */
  nextMs(): number | null {
    if (this.reporting) return null;
    const waits = this.#confirms ? CONFIRM_MS : this.#leases.size > 0 ? HEARTBEAT_MS : null;
    const times = [this.#dueMs, waits === null ? null : this.#lastTalkMs + waits].filter((at) => at !== null);
    return times.length === 0 ? null : Math.max(Math.min(...times), this.#retryMs ?? Number.NEGATIVE_INFINITY);
  }

  get #confirms(): boolean {
    if (this.#alertsToAck.size > 0) return true;
    for (const { acknowledged, storedVersion } of this.#leases.values())
      if (acknowledged !== null && acknowledged.version > storedVersion) return true;
    return false;
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

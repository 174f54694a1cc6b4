/**
 * What a wallet still has to tell the budget object: settlements and returned leases, summed, sealed into numbered
 * batches when a message leaves, and kept until the object has stored them. A batch never changes once sealed, so it
 * may be sent any number of times. Times here are of the wallet's SteadyTime.
 */
import type { BudgetAlert } from "./alerts.ts";
import { type Amounts, isExact, plus, plusUsed } from "./amounts.ts";
import type { Batch, LeaseEnd, Report, ReportAnswer, SettleLine } from "./api.ts";

/** After silence this long the object is asked whether it has stored what it applied. */
const CONFIRM_MS = 10_000;
const RETRY_MS = 1_000;
const ALERTS_REMEMBERED = 1_000;

export class Outbox {
  readonly #cell: string;
  readonly #epoch: number;
  #lines = new Map<string, SettleLine>();
  /** Lines that take no more: their sums would not be exact. */
  #full: SettleLine[] = [];
  #ends: LeaseEnd[] = [];
  #batches: Batch[] = [];
  #dueMs: number | null = null;
  #base = 0;
  #through = 0;
  #applied = 0;
  #lastTalkMs = 0;
  #number = 0;
  #retryMs: number | null = null;
  #failingSinceMs: number | null = null;
  #added = 0;
  /** The last answer asked for batches that had been sent. */
  #gap = false;
  /** Alerts that were heard of, and whether they are in hands that outlive this Cell. */
  readonly #alertsSeen = new Map<string, boolean>();
  #alertsToAck = new Set<string>();
  /** A report is under way; leases carry reports as well and do not count here. */
  reporting = false;

  constructor(cell: string, epoch: number) {
    this.#cell = cell;
    this.#epoch = epoch;
  }

  /** Since when the object has not answered; null while it does. */
  get failingSinceMs(): number | null {
    return this.#failingSinceMs;
  }

  get empty(): boolean {
    return this.#lines.size === 0 && this.#ends.length === 0 && this.#batches.length === 0 && !this.reporting;
  }

  /** The newest sequence number that exists. */
  get through(): number {
    return this.#through;
  }

  /** How many lines were ever added. */
  get added(): number {
    return this.#added;
  }

  /** What the object's bucket gains by all that it had not applied when it answered `applied`. */
  bucketGainAfter(applied: number): number {
    const unapplied = this.#batches.filter(({ sequence }) => sequence > applied).flatMap(({ lines }) => lines);
    return [...unapplied, ...this.#full, ...this.#lines.values()]
      .filter(({ kind }) => kind === "settled")
      .reduce((sum, { released, used }) => sum + released.bucketTokens - used.tokens, 0);
  }

  /** The number of the next ask: rising over all purses, so that a purse may come and go. */
  nextNumber(): number {
    this.#number += 1;
    return this.#number;
  }

  /** Adds a settlement, to leave at `dueMs` at the latest. */
  add(line: SettleLine, dueMs: number): void {
    const { limits, purse, tags, kind, request } = line;
    const revs = `${limits.tenant.rev}/${limits.key.rev}`;
    const id = JSON.stringify([limits.key.id, revs, purse, tags.tenant, tags.key, kind, request]);
    const same = this.#lines.get(id);
    const exact = same === undefined || (areExact(same.released, line.released) && isExactUse(same, line));
    if (!exact) this.#full.push(same);
    const sum: SettleLine =
      same === undefined || !exact
        ? line
        : { ...line, released: plus(same.released, line.released), used: plusUsed(same.used, line.used) };
    this.#lines.set(id, sum);
    this.#added += 1;
    this.#due(dueMs);
  }

  end(end: LeaseEnd, dueMs: number): void {
    this.#ends.push(end);
    this.#due(dueMs);
  }

  /** Seals what waits, and answers the message with everything that the object may lack. */
  report(nowMs: number): Report {
    this.#lastTalkMs = nowMs;
    if (this.#lines.size > 0 || this.#ends.length > 0) {
      this.#through += 1;
      // What was taken over counts before what ended: a line that sums several ends may hold that of an adopted request.
      const lines = [...this.#full, ...this.#lines.values()].toSorted(
        (a, b) => Number(b.kind === "adopted") - Number(a.kind === "adopted"),
      );
      this.#batches.push({ sequence: this.#through, lines, ends: this.#ends });
      this.#lines = new Map();
      this.#full = [];
      this.#ends = [];
    }
    this.#dueMs = null;
    return {
      cell: this.#cell,
      epoch: this.#epoch,
      base: this.#base,
      through: this.#through,
      batches: this.#batches.slice(Math.max(0, this.#applied - this.#base)),
      alertsSeen: [...this.#alertsToAck],
    };
  }

  /** Takes an answer to any message; answers the alerts that are new. Answers may come in any order. */
  answered(report: Report, answer: ReportAnswer, nowMs: number): readonly BudgetAlert[] {
    this.#lastTalkMs = nowMs;
    this.#retryMs = null;
    this.#failingSinceMs = null;
    this.#applied = answer.applied;
    this.#forget(answer.durable);
    for (const id of report.alertsSeen) this.#alertsToAck.delete(id);
    const fresh = answer.alerts.filter((alert) => !this.#alertsSeen.has(alert.id));
    for (const { id } of answer.alerts) {
      const safe = this.#alertsSeen.get(id) ?? false;
      this.#alertsSeen.set(id, safe);
      if (safe) this.#alertsToAck.add(id);
    }
    for (const id of this.#alertsSeen.keys()) {
      if (this.#alertsSeen.size <= ALERTS_REMEMBERED) break;
      this.#alertsSeen.delete(id);
    }
    this.#askedForMore(nowMs);
    return fresh;
  }

  /** The alert will arrive whatever becomes of this Cell: the object need not keep it. */
  alertSafe(id: string): void {
    this.#alertsSeen.set(id, true);
    this.#alertsToAck.add(id);
  }

  failed(nowMs: number): void {
    this.#failingSinceMs ??= nowMs;
    this.#retryMs = nowMs + RETRY_MS;
  }

  /** When a report should leave; null: nothing to say, or one is under way. */
  nextMs(): number | null {
    if (this.reporting) return null;
    const kept = this.#batches.length > 0 || this.#alertsToAck.size > 0 ? this.#lastTalkMs + CONFIRM_MS : null;
    const unapplied = this.#batches.length > 0 && this.#retryMs !== null ? this.#retryMs : null;
    const times = [this.#dueMs, kept, unapplied].filter((at) => at !== null);
    return times.length === 0 ? null : Math.max(Math.min(...times), this.#retryMs ?? Number.NEGATIVE_INFINITY);
  }

  /** Batches that the object lacks are sent again at once, but not again and again: it may never say that it has them. */
  #askedForMore(nowMs: number): void {
    const gap = this.#applied < this.#through;
    if (gap) this.#due(this.#gap ? nowMs + RETRY_MS : nowMs);
    this.#gap = gap;
  }

  /** What is kept are the sequence numbers from base + 1 on, without gaps. */
  #forget(durable: number): void {
    if (durable <= this.#base) return;
    this.#batches = this.#batches.slice(durable - this.#base);
    this.#base = durable;
  }

  #due(atMs: number): void {
    this.#dueMs = this.#dueMs === null ? atMs : Math.min(this.#dueMs, atMs);
  }
}

function areExact(a: Amounts, b: Amounts): boolean {
  return (
    isExact(a.bucketTokens, b.bucketTokens) && isExact(a.termTokens, b.termTokens) && isExact(a.nanoUsd, b.nanoUsd)
  );
}

function isExactUse({ used: a }: SettleLine, { used: b }: SettleLine): boolean {
  return isExact(a.tokens, b.tokens) && isExact(a.nanoUsd, b.nanoUsd);
}

/**
 * Applies what a Cell says of its leases. A word is the whole of what there is to say of a lease, so what is new of it is its
 * difference to the word before; what was said already, and what is over, changes nothing. A request of which several lives of
 * the Cell tell is charged once (charged-requests.ts). Times here are of the authority's MonotonicClock.
 */
import {
  type ActualUsage,
  type Amounts,
  beyondUsed,
  isNothing,
  larger,
  minus,
  NO_AMOUNTS,
  NOTHING_USED,
  plus,
  smaller,
} from "./amounts.ts";
import type { ChargedRequests } from "./charged-requests.ts";
import { type CellLife, moveOut, newLease, type OutstandingLease, unreturned } from "./outstanding-lease.ts";
import type { OutstandingLeases } from "./outstanding-leases.ts";
import type { BudgetReport, LeaseReport, OpenedLease, UsedLine } from "./rpc.ts";

/** What a Cell's words on leases change. */
interface LeaseChange {
  /** Tokens that come back to the bucket. */
  bucketTokens: number;
  /** What is to be charged. */
  readonly charges: UsedLine[];
}

export class LeaseReportApplier {
  readonly #leases: OutstandingLeases;
  readonly #charged: ChargedRequests;

  constructor(leases: OutstandingLeases, charged: ChargedRequests) {
    this.#leases = leases;
    this.#charged = charged;
  }

  /** Applies a report that is newer than what was heard of the life before; answers what is new of it. */
  apply(life: CellLife, report: BudgetReport, nowMs: number): LeaseChange {
    const change: LeaseChange = { bucketTokens: 0, charges: [] };
    const taken = new Map<string | null, Amounts>();
    for (const word of report.leases) {
      const lease = life.leases.get(word.n) ?? this.#open(life, word, taken);
      if (lease !== null) this.#applyReport(life, lease, word, change, nowMs);
    }
    for (const [pool, drawn] of taken) this.#takeOver(life, pool, drawn);
    if (this.#leases.isNewest(life)) takeVoid(life, report, change);
    life.heardN = report.sequence;
    return change;
  }

  #applyReport(life: CellLife, lease: OutstandingLease, word: LeaseReport, change: LeaseChange, nowMs: number): void {
    const { opened, request } = word;
    const told = use(lease, word.used);
    const ends = word.ended && !lease.ended;
    lease.ended ||= word.ended;
    if (lease.settled) {
      if (told.length === 0) return;
      // What it used may be in the ledger's answer already.
      lease.granted = plus(lease.granted, reservedFor(told));
      lease.lostAtMs ??= nowMs;
    } else if (request === null || opened === null) {
      const before = lease.released;
      lease.released = larger(before, smaller(word.released, lease.granted));
      change.bucketTokens += minus(lease.released, before).bucketTokens;
      change.charges.push(...told);
    } else if (ends) {
      const since = opened.as === "readmitted";
      const used = told[0]?.used ?? NOTHING_USED;
      const drawnTokens = opened.granted.bucketTokens;
      const due = this.#charged.reported({ ...request, since, used, drawnTokens }, life.life);
      if (due.releases) lease.released = lease.granted;
      change.bucketTokens += due.returnedTokens;
      change.charges.push(...told.slice(0, 1).map((line) => ({ ...line, used: due.used })));
    }
  }

  /**
   * A lease that the Cell opened. Null: it is over and forgotten, or it was asked for and never granted. What a request holds
   * that has a lease of its own now is held by that, and no longer by what it was drawn from.
   */
  #open(life: CellLife, word: LeaseReport, taken: Map<string | null, Amounts>): OutstandingLease | null {
    const { n, pool, opened } = word;
    if (opened === null || n <= life.heardN) return null;
    const lease = newLease(n, pool, this.#held(life, word, opened, taken));
    life.leases.set(n, lease);
    return lease;
  }

  #held(
    life: CellLife,
    { pool, request }: LeaseReport,
    { as, granted, from }: OpenedLease,
    taken: Map<string | null, Amounts>,
  ): Amounts {
    if (request === null || isNothing(granted)) return as === "counted" ? NO_AMOUNTS : granted;
    if (as === "drawn") {
      // Also when a newer life holds it already: what this one holds besides is not released, and awaits the ledger.
      const drawnFrom = from === null ? undefined : life.leases.get(from);
      return drawnFrom === undefined ? NO_AMOUNTS : minus(granted, moveOut(drawnFrom, granted));
    }
    const where = as === "adopted" ? this.#charged.adopted(request.id, life.life) : "newer";
    if (where === "older") taken.set(pool, plus(taken.get(pool) ?? NO_AMOUNTS, granted));
    return where === "newer" ? NO_AMOUNTS : granted;
  }

  /** Takes what requests drew in earlier lives of the cell out of whatever leases those have of the pool. */
  #takeOver({ cell, life }: CellLife, pool: string | null, drawn: Amounts): void {
    let missing = drawn;
    for (const older of this.#leases.lives) {
      if (older.cell !== cell || older.life >= life) continue;
      for (const lease of older.leases.values()) {
        if (isNothing(missing)) return;
        if (lease.pool === pool) missing = moveOut(lease, missing);
      }
    }
  }
}

/** A lease that its Cell asked for before the report and does not know: its answer got lost, nothing was drawn from it. */
function takeVoid(life: CellLife, { sequence, open }: BudgetReport, change: LeaseChange): void {
  const known = new Set(open);
  for (const lease of life.leases.values()) {
    if (lease.answered === null || lease.n >= sequence || lease.settled || known.has(lease.n)) continue;
    change.bucketTokens += unreturned(lease).bucketTokens;
    lease.released = lease.granted;
    lease.ended = true;
  }
}

/** Takes note of what was used of a lease; answers what is new of it. */
function use(lease: OutstandingLease, lines: readonly UsedLine[]): readonly UsedLine[] {
  const told: UsedLine[] = [];
  const used: Record<string, ActualUsage> = { ...lease.used };
  for (const line of lines) {
    const name = JSON.stringify([line.limits.key.id, line.tags.tenant, line.tags.key]);
    const beyond = beyondUsed(line.used, used[name] ?? NOTHING_USED);
    if (beyond.tokens === 0 && beyond.nanoUsd === 0) continue;
    used[name] = line.used;
    told.push({ ...line, used: beyond });
  }
  if (told.length > 0) lease.used = used;
  return told;
}

/** What was used, as it would be reserved; nothing of the bucket, which was debited when the lease was granted. */
function reservedFor(lines: readonly UsedLine[]): Amounts {
  return lines.reduce(
    (sum, { used }) => plus(sum, { bucketTokens: 0, termTokens: used.tokens, nanoUsd: used.nanoUsd }),
    NO_AMOUNTS,
  );
}

/**
 * Applies what a Cell reports of its leases. A report of a lease is always complete, so what is new is its difference to
 * the report before; what was reported before, and what is over, changes nothing. A request that several lives of the Cell
 * report is charged once (charged-requests.ts). Times are of the authority's MonotonicClock.
 */
import {
  type ActualUsage,
  type Amounts,
  amountsUsed,
  isNothing,
  larger,
  minus,
  NO_AMOUNTS,
  NOTHING_USED,
  plus,
  smaller,
} from "../amounts.ts";
import type { BudgetReport, LeaseReport, OpenedLease, UsedLine } from "../messages/rpc.ts";
import { RateGains } from "../rates.ts";
import type { ChargedRequests } from "./charged-requests.ts";
import { type CellLife, comesBack, type GrantedLeases, moveOut, newLease, unreturned } from "./granted-leases.ts";
import type { GrantedLease } from "./stored.ts";

/** The changes that a report brings. */
interface LeaseChange {
  /** What comes back to the buckets. */
  readonly gains: RateGains;
  /** What is to be charged. */
  readonly charges: UsedLine[];
}

export class LeaseReportApplier {
  readonly #leases: GrantedLeases;
  readonly #charged: ChargedRequests;

  constructor(leases: GrantedLeases, charged: ChargedRequests) {
    this.#leases = leases;
    this.#charged = charged;
  }

  /** Applies a report that is newer than everything heard of this life before; returns what is new in it. */
  apply(life: CellLife, report: BudgetReport, nowMs: number): LeaseChange {
    const change: LeaseChange = { gains: new RateGains(), charges: [] };
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

  #applyReport(life: CellLife, lease: GrantedLease, word: LeaseReport, change: LeaseChange, nowMs: number): void {
    const { opened, request } = word;
    const newlyUsed = use(lease, word.used);
    const ends = word.ended && !lease.ended;
    lease.ended ||= word.ended;
    if (lease.settled) {
      if (newlyUsed.length === 0) return;
      // What it used may be in the ledger's answer already.
      lease.granted = plus(lease.granted, reservedFor(newlyUsed));
      lease.lostAtMs ??= nowMs;
    } else if (request === null || opened === null) {
      const before = lease.released;
      lease.released = larger(before, smaller(word.released, lease.granted));
      const spent = newlyUsed.reduce((sum, line) => plus(sum, amountsUsed(line.used)), NO_AMOUNTS);
      change.gains.add(lease.pool, comesBack(lease, minus(lease.released, before), spent), 1);
      change.charges.push(...newlyUsed);
    } else if (ends) {
      const since = opened.as === "readmitted";
      const used = newlyUsed[0]?.used ?? NOTHING_USED;
      const due = this.#charged.reported({ ...request, since, used }, life.life);
      if (due.releases) lease.released = lease.granted;
      if (due.returns) change.gains.add(lease.pool, opened.granted, 1);
      change.charges.push(...newlyUsed.slice(0, 1).map((line) => ({ ...line, used: due.used })));
    }
  }

  /**
   * A lease that the Cell opened itself. Null: it is over and forgotten, or it was requested and never granted. What a
   * request with a lease of its own holds is counted in that lease from now on, and no longer in the lease that it was
   * drawn from.
   */
  #open(life: CellLife, word: LeaseReport, taken: Map<string | null, Amounts>): GrantedLease | null {
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
      // Also when a newer life holds it already: what this life holds in addition is not released, and awaits the ledger.
      const drawnFrom = from === null ? undefined : life.leases.get(from);
      return drawnFrom === undefined ? NO_AMOUNTS : minus(granted, moveOut(drawnFrom, granted));
    }
    const where = as === "adopted" ? this.#charged.adopted(request.id, life.life) : "newer";
    if (where === "older") taken.set(pool, plus(taken.get(pool) ?? NO_AMOUNTS, granted));
    return where === "newer" ? NO_AMOUNTS : granted;
  }

  /** Takes what requests drew in earlier lives of the Cell out of the leases of the pool that those lives have. */
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

/** Leases that the Cell requested before the report and does not know: their answer was lost, and nothing was drawn. */
export function voidIn(life: CellLife, { sequence, open }: BudgetReport): readonly GrantedLease[] {
  const known = new Set(open);
  return [...life.leases.values()].filter(
    ({ n, answered, settled }) => answered !== null && n < sequence && !settled && !known.has(n),
  );
}

function takeVoid(life: CellLife, report: BudgetReport, change: LeaseChange): void {
  for (const lease of voidIn(life, report)) {
    change.gains.add(lease.pool, comesBack(lease, unreturned(lease), NO_AMOUNTS), 1);
    lease.released = lease.granted;
    lease.ended = true;
  }
}

/** Records what was used of a lease; returns the part that is new. */
function use(lease: GrantedLease, lines: readonly UsedLine[]): readonly UsedLine[] {
  const newlyUsed: UsedLine[] = [];
  const used: Record<string, ActualUsage> = { ...lease.used };
  for (const line of lines) {
    const name = JSON.stringify([line.limits.key.id, line.tags.tenant, line.tags.key]);
    const beyond = minus(line.used, used[name] ?? NOTHING_USED);
    if (isNothing(beyond)) continue;
    used[name] = line.used;
    newlyUsed.push({ ...line, used: beyond });
  }
  if (newlyUsed.length > 0) lease.used = used;
  return newlyUsed;
}

/**
 * What was used, as amounts that would be reserved; nothing of the buckets, which were debited when the lease was granted.
 */
function reservedFor(lines: readonly UsedLine[]): Amounts {
  return lines.reduce(
    (sum, { used }) => plus(sum, { bucketTokens: 0, termTokens: used.tokens, nanoUsd: used.nanoUsd }),
    NO_AMOUNTS,
  );
}

/**
 * Applies a Cell's reports of its leases. A report of a lease is always complete, so only its difference to the previous report
 * counts; repeated reports, and reports of ended leases, change nothing. A request that several lives of the Cell report is
 * charged once (charged-requests.ts). Times are of the authority's MonotonicClock.
 */
import {
  type ActualUsage,
  type Amounts,
  amountsUsed,
  countsIn,
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
  /** What returns to the buckets, less what was used. */
  readonly gains: RateGains;
  /** The amounts to charge to the term budgets. */
  readonly charges: UsedLine[];
}

export class LeaseReportApplier {
  readonly #leases: GrantedLeases;
  readonly #charged: ChargedRequests;

  constructor(leases: GrantedLeases, charged: ChargedRequests) {
    this.#leases = leases;
    this.#charged = charged;
  }

  /** Applies a report that is newer than every earlier one of this life; returns what is new in it. */
  apply(life: CellLife, report: BudgetReport, nowMs: number): LeaseChange {
    const change: LeaseChange = { gains: new RateGains(), charges: [] };
    const adopted = new Map<string | null, GrantedLease[]>();
    for (const word of report.leases) if (!life.leases.has(word.n)) this.#open(life, word, adopted);
    for (const [pool, leases] of adopted) this.#takeOver(life, pool, leases);
    for (const word of report.leases) {
      const lease = life.leases.get(word.n);
      if (lease !== undefined) this.#applyReport(life, lease, word, change, nowMs);
    }
    if (this.#leases.isNewest(life)) {
      takeVoid(life, report, change);
      forgetSettled(life, report);
    }
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
      // The ledger's answer may contain its use already.
      lease.granted = plus(lease.granted, reservedFor(newlyUsed));
      lease.lostAtMs ??= nowMs;
    } else if (request === null || opened === null) {
      const before = lease.released;
      lease.released = larger(before, smaller(word.released, lease.granted));
      const spent = newlyUsed.reduce((sum, line) => plus(sum, amountsUsed(line.used)), NO_AMOUNTS);
      change.gains.add(lease.pool, comesBack(lease, minus(lease.released, before), spent), 1);
      for (const { limits, used } of newlyUsed) change.gains.add(limits.key.id, amountsUsed(used), -1);
      change.charges.push(...newlyUsed);
    } else if (ends) {
      const since = opened.as === "readmitted";
      const [line] = newlyUsed;
      const used = line?.used ?? NOTHING_USED;
      const drawn = { ...countsIn(opened.granted), tokens: opened.granted.bucketTokens, nanoUsd: 0 };
      const due = this.#charged.reported({ ...request, since, used, drawn }, life.life);
      if (due.releases) lease.released = lease.granted;
      if (due.returns) change.gains.add(lease.pool, comesBack(lease, opened.granted, amountsUsed(used)), 1);
      change.gains.add(line?.limits.key.id ?? lease.pool, amountsUsed(due.debit), -1);
      if (line !== undefined) change.charges.push({ ...line, used: due.used });
    }
  }

  /**
   * Opens a lease that the Cell opened itself; any other one is over and forgotten, or was requested and never granted. From
   * now on, a request with its own lease counts in that lease, and no longer in the lease that it had drawn from. `adopted`:
   * those whose requests drew from leases of older lives.
   */
  #open(life: CellLife, word: LeaseReport, adopted: Map<string | null, GrantedLease[]>): void {
    const { n, pool, opened } = word;
    if (opened === null || n <= life.heardN) return;
    const { granted, isOfOlder } = this.#held(life, word, opened);
    const lease = newLease(n, pool, granted);
    life.leases.set(n, lease);
    if (!isOfOlder) return;
    const ofPool = adopted.get(pool) ?? [];
    ofPool.push(lease);
    adopted.set(pool, ofPool);
  }

  #held(
    life: CellLife,
    { request }: LeaseReport,
    { as, granted, from }: OpenedLease,
  ): { readonly granted: Amounts; readonly isOfOlder: boolean } {
    const holds = (held: Amounts, isOfOlder = false) => ({ granted: held, isOfOlder });
    if (request === null || isNothing(granted)) return holds(as === "counted" ? NO_AMOUNTS : granted);
    if (as === "drawn") {
      // Also if a newer life holds it already: the additional amount of this life is not released, and awaits the ledger.
      const drawnFrom = from === null ? undefined : life.leases.get(from);
      return holds(drawnFrom === undefined ? NO_AMOUNTS : minus(granted, moveOut(drawnFrom, granted)));
    }
    const where = as === "adopted" ? this.#charged.adopted(request.id, life.life) : "newer";
    return holds(where === "newer" ? NO_AMOUNTS : granted, where === "older");
  }

  /**
   * Takes the amounts that requests drew in earlier lives of the Cell out of those lives' leases of the pool. A missing amount
   * was never drawn, for example by requests admitted unchecked: it does not return to the buckets.
   */
  #takeOver({ cell, life }: CellLife, pool: string | null, adopted: readonly GrantedLease[]): void {
    let missing = adopted.reduce((sum, { granted }) => plus(sum, granted), NO_AMOUNTS);
    for (const older of this.#leases.lives) {
      if (older.cell !== cell || older.life >= life) continue;
      for (const lease of older.leases.values()) {
        if (isNothing(missing)) return;
        if (lease.pool === pool) missing = moveOut(lease, missing);
      }
    }
    for (const lease of adopted) {
      lease.forgone = smaller(lease.granted, missing);
      missing = minus(missing, lease.forgone);
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

/** Forgets the leases that the ledger settled and that the Cell has nothing more to report of. */
function forgetSettled(life: CellLife, { sequence, open }: BudgetReport): void {
  const known = new Set(open);
  for (const { n, answered, settled, lostAtMs } of life.leases.values())
    if (settled && lostAtMs === null && answered !== null && n < sequence && !known.has(n)) life.leases.delete(n);
}

/** Records the use of a lease; returns the new part. */
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

/** The use, as amounts that would be reserved; nothing of the buckets, which were debited when the lease was granted. */
function reservedFor(lines: readonly UsedLine[]): Amounts {
  return lines.reduce(
    (sum, { used }) => plus(sum, { bucketTokens: 0, termTokens: used.tokens, nanoUsd: used.nanoUsd }),
    NO_AMOUNTS,
  );
}

/**
 * One outstanding lease of a tenant, as the authority knows and stores it, with the life of the Cell that has it. Times are
 * of the authority's MonotonicClock.
 */
import { type ActualUsage, type Amounts, isNothing, minus, NO_AMOUNTS, plus, smaller } from "../amounts.ts";
import type { BindingLimit, BudgetReport } from "../messages/rpc.ts";

/** One lease as the authority knows it. Only its own fields are changed in place, so a shallow copy stays as it is. */
export interface OutstandingLease {
  readonly n: number;
  readonly pool: string | null;
  granted: Amounts;
  /** What its Cell reported as ended or given back. */
  released: Amounts;
  /** What single requests that now have leases of their own had drawn from it. */
  moved: Amounts;
  /** What was charged for it, by key and period. */
  used: Readonly<Record<string, ActualUsage>>;
  ended: boolean;
  /** By when its Cell reports that it has ended; null for a lease that the Cell opened itself. */
  untilMs: number | null;
  /** How its lease request was answered; null for a lease that the Cell opened itself. */
  readonly answered: { readonly ttlMs: number; readonly ample: boolean } | null;
  /** Since when its Cell is taken for dead; null while it is not. */
  lostAtMs: number | null;
  /** It was lost and the ledger has been asked since: what its Cell still reports of it waits for the ledger again. */
  settled: boolean;
}

/** One life of a cell. */
export interface CellLife {
  readonly cell: string;
  readonly life: number;
  /**
   * Newest number that the Cell has reported. A lease up to it that is neither known nor awaited is over, or was given up.
   */
  seenN: number;
  /** Leases that the Cell waits for and that were not granted, with the limit that refused; null: not decided yet. */
  awaited: Map<number, BindingLimit | null>;
  /**
   * Sequence of the newest report that was applied. A lease that the Cell opened before it and that is not known is over.
   */
  heardN: number;
  /** What `heardN` was at the last checkpoint. */
  storedN: number;
  lastHeardMs: number;
  /** What `lastHeardMs` was at the last checkpoint. */
  storedHeardMs: number;
  readonly leases: Map<number, OutstandingLease>;
}

/** A lease with the life of the cell that it belongs to. */
export interface PlacedLease {
  readonly cell: string;
  readonly life: number;
  readonly lease: OutstandingLease;
}

/** How long the Cell's report of a lease's end may take after the lease should have ended. */
const END_GRACE_MS = 5_000;
/** After this time without a message, a Cell that has only running requests is taken for dead as well. */
const SILENCE_MS = 15 * 60_000;
/** The disk knows the last message of a Cell with outstanding leases this exactly. */
export const HEARD_WITHIN_MS = SILENCE_MS / 3;

/** A lease of which nothing has been reported yet. */
export function newLease(n: number, pool: string | null, granted: Amounts): OutstandingLease {
  const nothing = { released: NO_AMOUNTS, moved: NO_AMOUNTS, used: {}, ended: false };
  return { n, pool, granted, ...nothing, untilMs: null, answered: null, lostAtMs: null, settled: false };
}

/**
 * Records the leases that the Cell waits for. A lease that a report leaves out was given up, unless the report is older.
 */
export function noteAwaited(life: CellLife, { sequence, open }: BudgetReport): void {
  const { awaited, leases, seenN } = life;
  const newestN = open.reduce((newest, n) => Math.max(newest, n), sequence);
  if (newestN < seenN) return;
  const waits = open.filter((n) => awaited.has(n) || (n > seenN && !leases.has(n)));
  life.awaited = new Map(waits.map((n) => [n, awaited.get(n) ?? null]));
  life.seenN = newestN;
}

/** Whether a newer lease of the pool is known: a Cell requests one at a time, and has given up the earlier ones. */
export function isOvertaken({ leases }: CellLife, pool: string | null, n: number): boolean {
  return [...leases.values()].some((lease) => lease.answered !== null && lease.pool === pool && lease.n > n);
}

/** The part of a lease that is neither used nor given back. */
export function unreturned({ granted, released, moved }: OutstandingLease): Amounts {
  return minus(minus(granted, released), moved);
}

/** Takes amounts out of a lease, for another lease to hold; returns what was missing. */
export function moveOut(lease: OutstandingLease, amounts: Amounts): Amounts {
  const taken = smaller(amounts, unreturned(lease));
  lease.moved = plus(lease.moved, taken);
  return minus(amounts, taken);
}

/** True when nothing more can change for it. */
export function isOver(lease: OutstandingLease): boolean {
  return lease.ended && lease.lostAtMs === null && isNothing(unreturned(lease));
}

/**
 * When a lease is taken for lost if its Cell reports nothing more; null: it is lost already, or nothing more can change.
 */
export function lossDueMs({ lastHeardMs }: CellLife, lease: OutstandingLease): number | null {
  if (lease.lostAtMs !== null || lease.settled || isOver(lease)) return null;
  const silentMs = lastHeardMs + SILENCE_MS;
  return lease.ended || lease.untilMs === null ? silentMs : Math.min(silentMs, lease.untilMs + END_GRACE_MS);
}

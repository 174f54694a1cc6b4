/**
 * One lease of a tenant that is out, as the authority knows and stores it, with the life of the cell that has it. Times are of
 * the authority's MonotonicClock.
 */
import { type ActualUsage, type Amounts, isNothing, minus, NO_AMOUNTS, plus, smaller } from "./amounts.ts";
import type { BindingLimit, BudgetReport } from "./rpc.ts";

/** One lease as the authority knows it. Nothing in it is changed in place but its own fields, so that a copy stays as it is. */
export interface OutstandingLease {
  readonly n: number;
  readonly pool: string | null;
  granted: Amounts;
  /** What its Cell says has ended or came back. */
  released: Amounts;
  /** What single requests had drawn from it that have leases of their own now. */
  moved: Amounts;
  /** What was charged for it, by key and period. */
  used: Readonly<Record<string, ActualUsage>>;
  ended: boolean;
  /** By when the Cell says that it has ended; null for a lease that the Cell opened itself. */
  untilMs: number | null;
  /** How its ask was answered; null for a lease that the Cell opened itself. */
  readonly answered: { readonly ttlMs: number; readonly ample: boolean } | null;
  /** Since when its Cell is taken for dead; null while it is not. */
  lostAtMs: number | null;
  /** It was lost and the ledger has been asked since: what its Cell says of it after all waits for the ledger again. */
  settled: boolean;
}

/** One life of a cell. */
export interface CellLife {
  readonly cell: string;
  readonly life: number;
  /** Newest number that the Cell has told of. A lease up to it that is neither known nor awaited is over, or was given up. */
  seenN: number;
  /** Leases that the Cell waits for and that were not granted: why they were refused; null: they are still to be decided. */
  awaited: Map<number, BindingLimit | null>;
  /** Sequence of the newest report that was applied. A lease that the Cell opened before and that is not known is over. */
  heardN: number;
  /** What `heardN` was at the last checkpoint. */
  storedN: number;
  lastHeardMs: number;
  readonly leases: Map<number, OutstandingLease>;
}

/** A lease with the life of the cell that it belongs to. */
export interface PlacedLease {
  readonly cell: string;
  readonly life: number;
  readonly lease: OutstandingLease;
}

/** After a lease should have ended, how long the Cell's word on it may still be under way. */
const END_GRACE_MS = 5_000;
/** Without a word for this long a cell that has only running requests is taken for dead as well. */
const SILENCE_MS = 15 * 60_000;

/** A lease of which nothing has been said yet. */
export function newLease(n: number, pool: string | null, granted: Amounts): OutstandingLease {
  const nothing = { released: NO_AMOUNTS, moved: NO_AMOUNTS, used: {}, ended: false };
  return { n, pool, granted, ...nothing, untilMs: null, answered: null, lostAtMs: null, settled: false };
}

/** Takes note of the leases that the Cell waits for. One that a report leaves out was given up, unless the report is older. */
export function noteAwaited(life: CellLife, { sequence, open }: BudgetReport): void {
  const { awaited, leases, seenN } = life;
  const newestN = open.reduce((newest, n) => Math.max(newest, n), sequence);
  if (newestN < seenN) return;
  const waits = open.filter((n) => awaited.has(n) || (n > seenN && !leases.has(n)));
  life.awaited = new Map(waits.map((n) => [n, awaited.get(n) ?? null]));
  life.seenN = newestN;
}

/** Whether a newer lease of the pool is known: its Cell asks for one at a time, and has given up those before. */
export function isOvertaken({ leases }: CellLife, pool: string | null, n: number): boolean {
  return [...leases.values()].some((lease) => lease.answered !== null && lease.pool === pool && lease.n > n);
}

/** What of a lease is neither used nor given back. */
export function unreturned({ granted, released, moved }: OutstandingLease): Amounts {
  return minus(minus(granted, released), moved);
}

/** Takes amounts out of a lease, for another to hold; answers what it did not have. */
export function moveOut(lease: OutstandingLease, amounts: Amounts): Amounts {
  const taken = smaller(amounts, unreturned(lease));
  lease.moved = plus(lease.moved, taken);
  return minus(amounts, taken);
}

/** Nothing more can become of it. */
export function isOver(lease: OutstandingLease): boolean {
  return lease.ended && lease.lostAtMs === null && isNothing(unreturned(lease));
}

/** When a lease is taken for lost, if its Cell says nothing more; null: it was already, or nothing more can become of it. */
export function lossDueMs({ lastHeardMs }: CellLife, lease: OutstandingLease): number | null {
  if (lease.lostAtMs !== null || lease.settled || isOver(lease)) return null;
  const silentMs = lastHeardMs + SILENCE_MS;
  return lease.ended || lease.untilMs === null ? silentMs : Math.min(silentMs, lease.untilMs + END_GRACE_MS);
}

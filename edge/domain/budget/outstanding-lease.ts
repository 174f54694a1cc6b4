/**
 * One lease of a tenant that is out, as the authority knows it, with the life of the cell that has it. Times are of the
 * authority's SteadyTime.
 */
import { type Actual, type Amounts, minus, NOTHING } from "./amounts.ts";

/** One lease as the authority knows it. */
export interface OutstandingLease {
  readonly n: number;
  readonly pool: string | null;
  readonly granted: Amounts;
  /** What its Cell says has ended or came back. */
  readonly released: Amounts;
  /** What single requests had drawn from it that have leases of their own now. */
  readonly moved: Amounts;
  /** Version of the Cell's word that was applied last; 0: none. */
  readonly version: number;
  /** What was charged for it, by key and period. */
  readonly used: Readonly<Record<string, Actual>>;
  readonly ended: boolean;
  /** By when the Cell says that it has ended; null for a lease that the Cell opened itself. */
  readonly untilMs: number | null;
  /** How its ask was answered; null for a lease that the Cell opened itself. */
  readonly answered: { readonly ttlMs: number; readonly ample: boolean } | null;
  /** Since when its Cell is taken for dead; null while it is not. */
  readonly lostAtMs: number | null;
  /** It was lost and the ledger has been asked since: what its Cell says of it after all waits for the ledger again. */
  readonly settled: boolean;
}

/** One life of a cell. */
export interface CellLife {
  readonly cell: string;
  readonly life: number;
  /** Highest numbers of leases that were asked for and that the Cell opened; a lower one that is not known is over. */
  askedN: number;
  openedN: number;
  /** What `askedN` was at the last checkpoint: an older ask that is repeated is known also after a crash. */
  storedAskedN: number;
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
  const nothing = { released: NOTHING, moved: NOTHING, version: 0, used: {}, ended: false };
  return { n, pool, granted, ...nothing, untilMs: null, answered: null, lostAtMs: null, settled: false };
}

/** What of a lease is neither used nor given back. */
export function outOf({ granted, released, moved }: OutstandingLease): Amounts {
  return minus(minus(granted, released), moved);
}

/** When a lease is taken for lost, if its Cell says nothing more; null: it was, and the ledger has been asked. */
export function burialMs({ lastHeardMs }: CellLife, { ended, untilMs, settled }: OutstandingLease): number | null {
  if (settled) return null;
  const silentMs = lastHeardMs + SILENCE_MS;
  return ended || untilMs === null ? silentMs : Math.min(silentMs, untilMs + END_GRACE_MS);
}

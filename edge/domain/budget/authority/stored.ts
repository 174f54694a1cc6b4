/**
 * The stored state of a TenantBudget, so that a crash loses nothing that limits requests. A lease is stored before it is
 * answered; everything else follows in a checkpoint, and Cells repeat their reports until then. After a crash the state is that
 * of the checkpoint with every lease granted since.
 *
 * A damaged row stops nothing. Unreadable parts count as spent where that state is known to end
 * (docs/rules/budgets.md#lost-leases): a bucket is empty and refills; everything counts as out on lease until the ledger has
 * been asked. A counter that cannot be read starts at 0: the ledger is its authority, and an object that starts asks it before
 * it decides (docs/rules/budgets.md#check-against-the-ledger).
 */
import { ALERT } from "../alerts.ts";
import { AMOUNTS, USED } from "../amounts.ts";
import { KEY_LIMITS, LIMITS, TENANT_LIMITS } from "../limits.ts";
import { BINDING_LIMIT } from "../messages/rpc.ts";
import { byRate } from "../rates.ts";
import {
  amount,
  flag,
  integer,
  isOf,
  listOf,
  mapOf,
  number,
  type Of,
  orAbsent,
  orNull,
  pairOf,
  record,
  type Shape,
  text,
} from "../shapes.ts";
import { TERM_ACCOUNT } from "../term-budget.ts";
import { BUCKET } from "../token-bucket.ts";
import { REQUEST_CHARGE } from "./charged-requests.ts";

/** One lease as the authority knows it. */
const LEASE = record({
  n: amount,
  pool: orNull(text),
  granted: AMOUNTS,
  /** The part of it that no request had waited for. Absent: all of it. */
  spare: orAbsent(AMOUNTS),
  /** The refill of the buckets since it was lost: a late return does not fill them further. Absent: nothing. */
  forgone: orAbsent(AMOUNTS),
  /** What its Cell reported as ended or returned. */
  released: AMOUNTS,
  /** What single requests had drawn from it that now have leases of their own. */
  moved: AMOUNTS,
  /** Its charges, by key and period. */
  used: mapOf(USED),
  ended: flag,
  /** By when its Cell reports that it has ended; null for a lease that the Cell opened itself. */
  untilMs: orNull(number),
  /** How its lease request was answered; null for a lease that the Cell opened itself. */
  answered: orNull(record({ ttlMs: amount, ample: flag })),
  /** Since when its Cell is taken for dead; null while it is not. */
  lostAtMs: orNull(number),
  /** It was lost and the ledger has been asked since: later reports of its Cell wait for the ledger again. */
  settled: flag,
});
/** Only its own fields are changed in place, so a shallow copy stays as it is. */
export type GrantedLease = { -readonly [Name in keyof Of<typeof LEASE>]: Of<typeof LEASE>[Name] };

/** A life of a cell and its leases; see CellLife. */
const LIFE = record({
  cell: text,
  life: amount,
  seenN: amount,
  /** By number, with the limit that refused it. */
  awaited: listOf(pairOf(amount, orNull(BINDING_LIMIT))),
  heardN: amount,
  /** Absent: an older version stored it. */
  heardMs: orAbsent(number),
  leases: listOf(LEASE),
});
export type StoredLife = Of<typeof LIFE>;

/** A bucket, with the granted tokens that it does not cover even at its largest debt. */
const HELD_BUCKET = { bucket: BUCKET, uncoveredTokens: number };
const BUCKETS = record(byRate(() => orAbsent(record(HELD_BUCKET))));
export type StoredBuckets = Of<typeof BUCKETS>;
export type StoredBucket = NonNullable<StoredBuckets["tokens"]>;

const TENANT = record({
  /** Number of checkpoints that the object has made. */
  checkpoint: amount,
  /** The bucket of tokens, as older releases read it. */
  ...HELD_BUCKET,
  /** Absent: an older version stored it, which had only the bucket of tokens. */
  rates: orAbsent(BUCKETS),
  limits: orNull(TENANT_LIMITS),
  account: orNull(TERM_ACCOUNT),
  alerts: listOf(ALERT),
  lives: listOf(LIFE),
});
export type StoredTenant = Of<typeof TENANT>;

/** What the ledger was asked for when it reported a use: the period, and the revision of the limits. */
const LEDGER_CHECK = record({ tag: text, rev: integer });
export type LedgerCheck = Of<typeof LEDGER_CHECK>;

const KEY = record({
  limits: KEY_LIMITS,
  account: TERM_ACCOUNT,
  /** Absent: the key has had no limit per minute. */
  rates: orAbsent(BUCKETS),
  /** Of an end user. Absent: the ledger has not answered yet. */
  checked: orAbsent(LEDGER_CHECK),
});
export type StoredKey = Of<typeof KEY>;

const PLACED_LEASE = record({ cell: text, life: amount, lease: LEASE });
export type PlacedLease = Of<typeof PLACED_LEASE>;

/** Leases of one pool that were granted since a checkpoint. */
const GRANTS = record({
  pool: orNull(text),
  /** The checkpoint before these leases; a later checkpoint contains them. */
  checkpoint: amount,
  /** Cap of the tenant's bucket of tokens. */
  capTokens: amount,
  leases: listOf(PLACED_LEASE),
  /** The newest known limits of the pool: whom to ask the ledger about. Absent: an older version stored the row. */
  limits: orAbsent(LIMITS),
});
export type StoredGrants = Of<typeof GRANTS>;

/** Known facts of requests that more than one life of a Cell may report, by request id, the latest last. */
const CHARGED = listOf(pairOf(text, REQUEST_CHARGE));
export type StoredCharged = Of<typeof CHARGED>;

/** The changes since the last checkpoint; they must be stored in one transaction. */
export interface Checkpoint {
  readonly tenant: StoredTenant;
  readonly keys: readonly StoredKey[];
  /** Ids of keys that nothing is kept of any more. */
  readonly forgotten: readonly string[];
  /** Null: unchanged. */
  readonly charged: StoredCharged | null;
}

export interface StoredState {
  readonly tenant: StoredTenant | null;
  readonly keys: readonly StoredKey[];
  /** Leases granted since the checkpoint. */
  readonly grants: readonly StoredGrants[];
  readonly charged: StoredCharged;
  /** A row could not be read: the level of the bucket and the outstanding amounts are unknown. */
  readonly untracked: boolean;
  /** A key's row could not be read: the levels of its buckets are not known. */
  readonly keysUntracked: boolean;
}

/** Rows in their stored form: JSON text. */
export interface StoredRows {
  readonly tenant: string | null;
  readonly charged: string | null;
  readonly keys: readonly string[];
  readonly grants: readonly string[];
}

/** The content of the rows, and how many rows cannot be read. Never throws. */
export function readStored(rows: StoredRows): { readonly state: StoredState; readonly damaged: number } {
  let damaged = 0;
  const read = <T>(row: string, shape: Shape<T>): readonly T[] => {
    const value = parsed(row);
    if (isOf(shape, value)) return [value];
    damaged += 1;
    return [];
  };
  const [tenant = null] = rows.tenant === null ? [] : read(rows.tenant, TENANT);
  const granted = rows.grants.flatMap((row) => read(row, GRANTS));
  const untracked = damaged > 0;
  // A checkpoint that cannot be read does not show which grants it contains, so all grants are kept.
  const grants = granted.filter(({ checkpoint }) => tenant === null || checkpoint === tenant.checkpoint);
  const readable = damaged;
  const keys = rows.keys.flatMap((row) => read(row, KEY));
  const keysUntracked = damaged > readable;
  const [charged = []] = rows.charged === null ? [] : read(rows.charged, CHARGED);
  return { state: { tenant, keys, grants, charged, untracked, keysUntracked }, damaged };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

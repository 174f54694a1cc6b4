/**
 * What a TenantBudget stores, so that a crash loses nothing that limits requests. A lease is stored before it is answered;
 * everything else follows in a checkpoint, and Cells repeat their reports until then. After a crash the state is that of
 * the checkpoint with every lease granted since.
 *
 * A damaged row stops nothing. What cannot be read counts as spent where that state is known to end
 * (docs/rules/budgets.md#lost-leases): a bucket is empty and refills; everything counts as out on lease until the ledger
 * has been asked. A counter that cannot be read starts at 0: the ledger is its authority, and an object that starts asks it
 * before it decides (docs/rules/budgets.md#check-against-the-ledger).
 */
import { isAmount } from "../../../../shared/amount.ts";
import type { BudgetAlert } from "../alerts.ts";
import type { ActualUsage, Amounts } from "../amounts.ts";
import type { BudgetLimits, KeyLimits, TenantLimits } from "../limits.ts";
import {
  arrayOf,
  type Guard,
  isBoolean,
  isInteger,
  isNumber,
  isObject,
  isString,
  oneOf,
  orAbsent,
  orNull,
  pairOf,
  withFields,
} from "../messages/guards.ts";
import type { BindingLimit } from "../messages/rpc.ts";
import {
  COUNT_FIELDS,
  isAlert,
  isAmounts,
  isBindingLimit,
  isBucket,
  isTermLimits,
  isUsed,
  RATE_LIMIT_FIELDS,
} from "../messages/validity.ts";
import { byRate, type Rate } from "../rates.ts";
import type { KeyCounter, TermAccount } from "../term-budget.ts";
import type { TokenBucket } from "../token-bucket.ts";
import type { RequestCharge } from "./charged-requests.ts";

/** One lease as the authority knows it. Only its own fields are changed in place, so a shallow copy stays as it is. */
export interface GrantedLease {
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

/** A lease with the life of the cell that it belongs to. */
export interface PlacedLease {
  readonly cell: string;
  readonly life: number;
  readonly lease: GrantedLease;
}

/** A life of a cell and its leases; see CellLife. */
export interface StoredLife {
  readonly cell: string;
  readonly life: number;
  readonly seenN: number;
  readonly awaited: readonly (readonly [n: number, refused: BindingLimit | null])[];
  readonly heardN: number;
  /** Absent: an older version stored it. */
  readonly heardMs?: number;
  readonly leases: readonly GrantedLease[];
}

/** A bucket, with the granted tokens that it does not cover even at its largest debt. */
export interface StoredBucket {
  readonly bucket: TokenBucket;
  readonly uncoveredTokens: number;
}

export type StoredBuckets = { readonly [R in Rate]?: StoredBucket };

/** Its own bucket is that of tokens, as older releases read it. */
export interface StoredTenant extends StoredBucket {
  /** Number of checkpoints that the object has made. */
  readonly checkpoint: number;
  /** Absent: an older version stored it, which had only the bucket of tokens. */
  readonly rates?: StoredBuckets;
  readonly limits: TenantLimits | null;
  readonly account: TermAccount | null;
  readonly alerts: readonly BudgetAlert[];
  readonly lives: readonly StoredLife[];
}

/** `rates` absent: the key has had no limit per minute. */
export interface StoredKey extends KeyCounter {
  readonly rates?: StoredBuckets;
}

/** Leases of one pool that were granted since a checkpoint. */
export interface StoredGrants {
  readonly pool: string | null;
  /** The checkpoint before these leases; a later checkpoint contains them. */
  readonly checkpoint: number;
  /** Cap of the tenant's bucket of tokens. */
  readonly capTokens: number;
  readonly leases: readonly PlacedLease[];
  /** The newest known limits of the pool: whom to ask the ledger about. Null: an older version stored the row. */
  readonly limits: BudgetLimits | null;
}

/** What is known of requests that more than one life of a Cell may report, by request id, the latest last. */
export type StoredCharged = readonly (readonly [requestId: string, charged: RequestCharge])[];

/** The changes since the last checkpoint; they must be stored in one transaction. */
export interface Checkpoint {
  readonly tenant: StoredTenant;
  readonly keys: readonly StoredKey[];
  /** Null: unchanged. */
  readonly charged: StoredCharged | null;
}

/** Everything that was stored. */
export interface StoredState {
  readonly tenant: StoredTenant | null;
  readonly keys: readonly StoredKey[];
  /** Leases granted since the checkpoint. */
  readonly grants: readonly StoredGrants[];
  readonly charged: StoredCharged;
  /** A row could not be read: the level of the bucket and what is out on lease are not known. */
  readonly untracked: boolean;
  /** A key's row could not be read: the levels of its buckets are not known. */
  readonly keysUntracked: boolean;
}

/** Rows as they are on the disk: JSON text. */
export interface StoredRows {
  readonly tenant: string | null;
  readonly charged: string | null;
  readonly keys: readonly string[];
  readonly grants: readonly string[];
}

/** The content of the rows, and how many rows cannot be read. Never throws. */
export function readStored(rows: StoredRows): { readonly state: StoredState; readonly damaged: number } {
  let damaged = 0;
  const read = <T>(row: string, is: Guard<T>, missing = {}): readonly T[] => {
    const value = parsed(row);
    const whole = isObject(value) && !Array.isArray(value) ? { ...missing, ...value } : value;
    if (is(whole)) return [whole];
    damaged += 1;
    return [];
  };
  const [tenant = null] = rows.tenant === null ? [] : read(rows.tenant, isTenant, NOT_IN_VERSION_2);
  const granted = rows.grants.flatMap((row) => read(row, isGrants, { limits: null }));
  const untracked = damaged > 0;
  // A checkpoint that cannot be read does not show which grants it contains, so all grants are kept.
  const grants = granted.filter(({ checkpoint }) => tenant === null || checkpoint === tenant.checkpoint);
  const readable = damaged;
  const keys = rows.keys.flatMap((row) => read(row, isKey));
  const keysUntracked = damaged > readable;
  const [charged = []] = rows.charged === null ? [] : read(rows.charged, arrayOf(pairOf(isString, isCharged)));
  return { state: { tenant, keys, grants, charged, untracked, keysUntracked }, damaged };
}

/** Null for text that is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const isLease = withFields<GrantedLease>({
  n: isAmount,
  pool: orNull(isString),
  granted: isAmounts,
  released: isAmounts,
  moved: isAmounts,
  used: (value): value is GrantedLease["used"] => isObject(value) && Object.values(value).every(isUsed),
  ended: isBoolean,
  untilMs: orNull(isNumber),
  answered: orNull(withFields({ ttlMs: isAmount, ample: isBoolean })),
  lostAtMs: orNull(isNumber),
  settled: isBoolean,
});

const isAccount = withFields<TermAccount>({
  tag: isString,
  usedTokens: isAmount,
  usedNanoUsd: isAmount,
  raised: arrayOf(oneOf("warn", "exhausted")),
  armedRev: orAbsent(isInteger),
});

const isTenantLimits = withFields<TenantLimits>({
  id: isString,
  name: isString,
  rev: isInteger,
  timezone: isString,
  ...RATE_LIMIT_FIELDS,
  term: isTermLimits,
});

const isKeyLimits = withFields<KeyLimits>({
  id: isString,
  label: isString,
  rev: isInteger,
  ...RATE_LIMIT_FIELDS,
  term: isTermLimits,
});

const isStoredBucket = withFields<StoredBucket>({ bucket: isBucket, uncoveredTokens: isNumber });

const isStoredBuckets = withFields<StoredBuckets>(byRate(() => orAbsent(isStoredBucket)));

const isTenant = withFields<StoredTenant>({
  checkpoint: isAmount,
  bucket: isBucket,
  uncoveredTokens: isNumber,
  rates: orAbsent(isStoredBuckets),
  limits: orNull(isTenantLimits),
  account: orNull(isAccount),
  alerts: arrayOf(isAlert),
  lives: arrayOf(
    withFields<StoredLife>({
      cell: isString,
      life: isAmount,
      seenN: isAmount,
      awaited: arrayOf(pairOf(isAmount, orNull(isBindingLimit))),
      heardN: isAmount,
      heardMs: orAbsent(isNumber),
      leases: arrayOf(isLease),
    }),
  ),
});

/** Versions before this one had leases elsewhere. */
const NOT_IN_VERSION_2 = { checkpoint: 0, lives: [] };

const isKey = withFields<StoredKey>({
  limits: isKeyLimits,
  account: isAccount,
  rates: orAbsent(isStoredBuckets),
});

const isGrants = withFields<StoredGrants>({
  pool: orNull(isString),
  checkpoint: isAmount,
  capTokens: isAmount,
  leases: arrayOf(withFields<PlacedLease>({ cell: isString, life: isAmount, lease: isLease })),
  limits: orNull(withFields<BudgetLimits>({ tenant: isTenantLimits, key: isKeyLimits })),
});

const isCharged = withFields<RequestCharge>({
  tokens: isAmount,
  nanoUsd: isAmount,
  ...COUNT_FIELDS,
  ended: isBoolean,
  returned: isBoolean,
  holder: orNull(isAmount),
});

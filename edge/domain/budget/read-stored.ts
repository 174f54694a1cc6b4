/**
 * Reads what a TenantBudget stored, whatever became of it on the disk or was written by an older version. A row that is damaged
 * stops nothing, and what cannot be read counts as spent where that is known to end (decisions §19.1): a bucket is empty and
 * refills; what is out of a pool is everything, until the ledger has been asked. A counter that cannot be read starts at 0:
 * the ledger is its authority, and is asked by an object that starts before it decides (decisions §19.6).
 */
import { isAmount } from "../../../shared/amount.ts";
import { type Actual, capped } from "./amounts.ts";
import type { Charged } from "./charged-requests.ts";
import { isAlert, isAmounts, isBucket, isTermLimits } from "./checks.ts";
import type { KeyCounter } from "./counters.ts";
import { isBoolean, isInteger, isNumber, isObject, isString, orNull, withFields } from "./guards.ts";
import type { KeyLimits, TenantLimits } from "./limits.ts";
import type { OutstandingLease, PlacedLease } from "./outstanding-lease.ts";
import type { StoredCharged, StoredGrants, StoredKey, StoredLife, StoredState, StoredTenant } from "./stored.ts";
import type { TermAccount } from "./term-budget.ts";
import { adjustBucket, SPENT_BUCKET } from "./token-bucket.ts";

/** Rows as they are on the disk: key columns, and JSON text. */
export interface StoredRows {
  readonly tenant: string | null;
  readonly charged: string | null;
  readonly keys: readonly { readonly id: string; readonly value: string }[];
  readonly grants: readonly { readonly pool: string | null; readonly value: string }[];
}

/** The state, and how many rows were damaged in some part. */
export interface ReadState {
  readonly state: StoredState;
  readonly damaged: number;
}

/** What a row says in so far as it can be read, and whether that is all of it. */
interface Read<T> {
  readonly row: T;
  readonly damaged: boolean;
  /** Pools of which leases are missing. */
  readonly untracked: readonly (string | null)[];
}

/** What rows say, in so far as they can be read. Never throws. */
export function readStored(rows: StoredRows): ReadState {
  const untracked: (string | null)[] = [];
  let damaged = 0;
  const kept = <T>(read: Read<T> | null, pool: string | null): readonly T[] => {
    untracked.push(...(read === null ? [pool] : read.untracked));
    if (read === null || read.damaged || read.untracked.length > 0) damaged += 1;
    return read === null ? [] : [read.row];
  };
  const [tenant = null] = rows.tenant === null ? [] : kept(tenantOf(parsed(rows.tenant)), null);
  const keys = rows.keys.flatMap(({ id, value }) => kept(keyOf(parsed(value)), id));
  // Of a checkpoint that cannot be read nobody knows which grants it has.
  const isSince = ({ checkpoint }: StoredGrants) => tenant === null || checkpoint === tenant.checkpoint;
  const grants = rows.grants.flatMap(({ pool, value }) => kept(grantsOf(pool, parsed(value)), pool).filter(isSince));
  const told = rows.charged === null ? [] : parsed(rows.charged);
  const charged = listOf(told).filter(isCharged);
  if (!Array.isArray(told) || charged.length < told.length) damaged += 1;
  return { state: { tenant, keys, grants, charged, untracked: [...new Set(untracked)] }, damaged };
}

/** Null for what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function tenantOf(value: unknown): Read<StoredTenant> {
  const row = isObject(value) ? value : {};
  const bucket = isBucket(row["bucket"]) ? adjustBucket(row["bucket"], 0) : null;
  const limits = isTenantLimits(row["limits"]) ? row["limits"] : null;
  const account = accountOf(row["account"]);
  const uncovered = row["uncoveredTokens"];
  const leases = leasesOf(row["leases"], null);
  const lives = listOf(row["lives"]).filter(isLife);
  const checkpoint = isAmount(row["checkpoint"]) ? row["checkpoint"] : 0;
  const tenant = {
    checkpoint,
    bucket: bucket ?? SPENT_BUCKET,
    uncoveredTokens: isNumber(uncovered) && uncovered > 0 ? capped(uncovered) : 0,
    limits,
    account: account?.account ?? null,
    alerts: listOf(row["alerts"]).filter(isAlert),
    leases: leases.row,
    lives,
  };
  const lost = bucket === null || account?.damaged === true || (account === null && row["account"] !== null);
  const damaged = lost || (limits === null && row["limits"] !== null) || lives.length < listOf(row["lives"]).length;
  return { row: tenant, damaged, untracked: isObject(value) ? leases.untracked : [null] };
}

function keyOf(value: unknown): Read<StoredKey> | null {
  if (!isObject(value) || !isKeyLimits(value["limits"])) return null;
  const read = accountOf(value["account"]);
  if (read === null) return null;
  const leases = leasesOf(value["leases"], value["limits"].id);
  const counter: KeyCounter = { limits: value["limits"], account: read.account };
  return { row: { ...counter, leases: leases.row }, damaged: read.damaged, untracked: leases.untracked };
}

function accountOf(value: unknown): { readonly account: TermAccount; readonly damaged: boolean } | null {
  if (!isObject(value) || typeof value["tag"] !== "string") return null;
  const { tag, usedTokens, usedNanoUsd } = value;
  const raised = listOf(value["raised"]).filter((level) => level === "warn" || level === "exhausted");
  const account = {
    tag,
    usedTokens: isAmount(usedTokens) ? usedTokens : 0,
    usedNanoUsd: isAmount(usedNanoUsd) ? usedNanoUsd : 0,
    raised,
  };
  return { account, damaged: account.usedTokens !== usedTokens || account.usedNanoUsd !== usedNanoUsd };
}

function grantsOf(pool: string | null, value: unknown): Read<StoredGrants> | null {
  if (!isObject(value) || !isAmount(value["checkpoint"]) || !isAmount(value["capTokens"])) return null;
  const { checkpoint, capTokens } = value;
  const leases = leasesOf(value["leases"], pool);
  return { row: { pool, checkpoint, capTokens, leases: leases.row }, damaged: false, untracked: leases.untracked };
}

/** The leases of a list; an earlier version had none. `pool`: whose they are when that cannot be read. */
function leasesOf(value: unknown, pool: string | null): Omit<Read<readonly PlacedLease[]>, "damaged"> {
  if (value === undefined) return { row: [], untracked: [] };
  if (!Array.isArray(value)) return { row: [], untracked: [pool] };
  const row = value.filter(isPlaced);
  return { row, untracked: row.length < value.length ? [pool] : [] };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isUsed(value: unknown): value is OutstandingLease["used"] {
  return isObject(value) && Object.values(value).every(withFields<Actual>({ tokens: isAmount, nanoUsd: isAmount }));
}

const isPlaced = withFields<PlacedLease>({
  cell: isString,
  life: isAmount,
  lease: withFields<OutstandingLease>({
    n: isAmount,
    pool: orNull(isString),
    granted: isAmounts,
    released: isAmounts,
    moved: isAmounts,
    version: isAmount,
    used: isUsed,
    ended: isBoolean,
    untilMs: orNull(isNumber),
    answered: orNull(withFields({ ttlMs: isAmount, ample: isBoolean })),
    lostAtMs: orNull(isNumber),
    settled: isBoolean,
  }),
});

const isLife = withFields<StoredLife>({ cell: isString, life: isAmount, askedN: isAmount, openedN: isAmount });

const isTenantLimits = withFields<TenantLimits>({
  id: isString,
  name: isString,
  rev: isInteger,
  timezone: isString,
  tokensPerMinute: isAmount,
  term: isTermLimits,
});

const isKeyLimits = withFields<KeyLimits>({ id: isString, label: isString, rev: isInteger, term: isTermLimits });

const isChargedRequest = withFields<Charged>({
  tokens: isAmount,
  nanoUsd: isAmount,
  ended: isBoolean,
  returned: isBoolean,
  holder: orNull(isAmount),
});

function isCharged(value: unknown): value is StoredCharged[number] {
  return Array.isArray(value) && isString(value[0]) && isChargedRequest(value[1]);
}

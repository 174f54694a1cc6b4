/**
 * Reads what a TenantBudget stored, whatever became of it on the disk or was written by an older version. A row that is damaged
 * stops nothing, and what cannot be read counts as spent where that is known to end (decisions §19.1): a bucket is empty and
 * refills; what is out of a pool is everything, until the ledger has been asked. A counter that cannot be read starts at 0:
 * the ledger is its authority, and is asked by an object that starts before it decides (decisions §19.6).
 */
import { isAmount } from "../../../shared/amount.ts";
import { type Actual, capped } from "./amounts.ts";
import type { Charged } from "./charged-requests.ts";
import { isAlert, isAmounts, isObject, isTermLimits } from "./checks.ts";
import type { KeyCounter } from "./counters.ts";
import type { KeyLimits, TenantLimits } from "./limits.ts";
import type { OutstandingLease, PlacedLease } from "./outstanding-lease.ts";
import type { StoredGrants, StoredKey, StoredLife, StoredState, StoredTenant } from "./stored.ts";
import type { TermAccount } from "./term-budget.ts";
import { adjustBucket, SPENT_BUCKET, type TokenBucket } from "./token-bucket.ts";

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
  const bucket = bucketOf(row["bucket"]);
  const limits = isTenantLimits(row["limits"]) ? row["limits"] : null;
  const account = accountOf(row["account"]);
  const uncovered = row["uncoveredTokens"];
  const leases = leasesOf(row["leases"], null);
  const lives = listOf(row["lives"]).filter(isLife);
  const checkpoint = isAmount(row["checkpoint"]) ? row["checkpoint"] : 0;
  const tenant = {
    checkpoint,
    bucket: bucket ?? SPENT_BUCKET,
    uncoveredTokens: isFiniteNumber(uncovered) && uncovered > 0 ? capped(uncovered) : 0,
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

function bucketOf(value: unknown): TokenBucket | null {
  if (!isObject(value)) return null;
  const { capTokens, levelTokens, atMs } = value;
  if (!isAmount(capTokens) || !isFiniteNumber(levelTokens) || !isFiniteNumber(atMs)) return null;
  return adjustBucket({ capTokens, levelTokens, atMs }, 0);
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
  const untracked: (string | null)[] = [];
  const row = value.flatMap((each: unknown): readonly PlacedLease[] => {
    const placed = placedOf(each);
    if (placed === null) untracked.push(pool);
    return placed === null ? [] : [placed];
  });
  return { row, untracked };
}

function placedOf(value: unknown): PlacedLease | null {
  if (!isObject(value) || typeof value["cell"] !== "string" || !isAmount(value["life"])) return null;
  const lease = leaseOf(value["lease"]);
  return lease === null ? null : { cell: value["cell"], life: value["life"], lease };
}

function leaseOf(value: unknown): OutstandingLease | null {
  if (!isObject(value) || !isAmount(value["n"]) || !isAmount(value["version"])) return null;
  const { n, version, pool, granted, released, moved, used, ended, untilMs, answered, lostAtMs, settled } = value;
  if (!isAmounts(granted) || !isAmounts(released) || !isAmounts(moved) || !isUsed(used)) return null;
  if (typeof ended !== "boolean" || typeof settled !== "boolean" || !(pool === null || typeof pool === "string"))
    return null;
  if (!(isFiniteNumber(untilMs) || untilMs === null) || !(isFiniteNumber(lostAtMs) || lostAtMs === null)) return null;
  if (!(isAnswered(answered) || answered === null)) return null;
  return { n, version, pool, granted, released, moved, used, ended, untilMs, answered, lostAtMs, settled };
}

function isUsed(value: unknown): value is Readonly<Record<string, Actual>> {
  return (
    isObject(value) &&
    Object.values(value).every((used) => isObject(used) && isAmount(used["tokens"]) && isAmount(used["nanoUsd"]))
  );
}

function isAnswered(value: unknown): value is NonNullable<OutstandingLease["answered"]> {
  return isObject(value) && isAmount(value["ttlMs"]) && typeof value["ample"] === "boolean";
}

function isLife(value: unknown): value is StoredLife {
  if (!isObject(value) || typeof value["cell"] !== "string") return false;
  return isAmount(value["life"]) && isAmount(value["askedN"]) && isAmount(value["openedN"]);
}

function isTenantLimits(value: unknown): value is TenantLimits {
  if (!isObject(value) || typeof value["timezone"] !== "string") return false;
  return isNamed(value, "name") && isAmount(value["tokensPerMinute"]) && isTermLimits(value["term"]);
}

function isKeyLimits(value: unknown): value is KeyLimits {
  return isObject(value) && isNamed(value, "label") && isTermLimits(value["term"]);
}

function isNamed(value: Readonly<Record<string, unknown>>, name: string): boolean {
  return typeof value["id"] === "string" && typeof value[name] === "string" && Number.isSafeInteger(value["rev"]);
}

function isCharged(value: unknown): value is readonly [string, Charged] {
  if (!Array.isArray(value) || typeof value[0] !== "string" || !isObject(value[1])) return false;
  const { tokens, nanoUsd, ended, returned, holder } = value[1];
  const known = typeof ended === "boolean" && typeof returned === "boolean" && (holder === null || isAmount(holder));
  return known && isAmount(tokens) && isAmount(nanoUsd);
}

function isFiniteNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

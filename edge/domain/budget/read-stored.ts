/**
 * Reads what a TenantBudget stored, whatever became of it on the disk or was written by an older version. A row that is damaged
 * stops nothing, and what cannot be read counts as spent where that is known to end (decisions §19.1): a bucket is empty and
 * refills; what is out of a purse is everything, until the ledger has been asked. A counter that cannot be read starts at 0:
 * the ledger is its authority, and is asked by an object that starts before it decides (decisions §19.6).
 */
import { isAmount } from "../../../shared/amount.ts";
import { capped } from "./amounts.ts";
import type { Charged } from "./charged-requests.ts";
import { isAlert, isAmounts, isObject, isTermLimits } from "./checks.ts";
import type { LastLease } from "./holdings.ts";
import type { KeyLimits, TenantLimits } from "./limits.ts";
import type {
  GrantRow,
  StoredEpoch,
  StoredHolding,
  StoredKey,
  StoredState,
  StoredTenant,
  Untracked,
} from "./stored.ts";
import type { TermAccount } from "./term-budget.ts";
import { adjustBucket, SPENT_BUCKET, type TokenBucket } from "./token-bucket.ts";
import { readTotals } from "./totals.ts";

/** Rows as they are on the disk: key columns, and JSON text. */
export interface StoredRows {
  readonly tenant: string | null;
  readonly charged: string | null;
  readonly keys: readonly { readonly id: string; readonly value: string }[];
  readonly epochs: readonly { readonly cell: string; readonly epoch: number; readonly value: string }[];
  readonly grants: readonly {
    readonly cell: string;
    readonly epoch: number;
    readonly purse: string | null;
    readonly value: string;
  }[];
}

/** The state, and how many rows were damaged in some part. */
export interface ReadState {
  readonly state: StoredState;
  readonly damaged: number;
}

/** What rows say, in so far as they can be read. Never throws. */
export function readStored(rows: StoredRows): ReadState {
  const untracked: Untracked[] = [];
  let damaged = 0;
  const kept = <T>(row: T | null, ...lost: readonly Untracked[]): readonly T[] => {
    untracked.push(...lost);
    if (row === null || lost.length > 0) damaged += 1;
    return row === null ? [] : [row];
  };
  const keys = rows.keys.flatMap(({ value }) => kept(keyOf(parsed(value))));
  const epochs = rows.epochs.flatMap(({ cell, epoch, value }) => {
    const read = epochOf(cell, epoch, parsed(value));
    if (read === null) return kept<StoredEpoch>(null, { cell, purse: null });
    return kept<StoredEpoch>(read.epoch, ...read.untracked);
  });
  const grants = rows.grants.flatMap(({ cell, epoch, purse, value }) => {
    const grant = grantOf(cell, epoch, purse, parsed(value));
    return grant === null ? kept<GrantRow>(null, { cell, purse }) : kept<GrantRow>(grant);
  });
  const tenant = rows.tenant === null ? null : tenantOf(parsed(rows.tenant));
  if (tenant?.damaged === true) damaged += 1;
  const told = rows.charged === null ? [] : parsed(rows.charged);
  const charged = listOf(told).filter(isCharged);
  if (!Array.isArray(told) || charged.length < told.length) damaged += 1;
  return { state: { tenant: tenant?.tenant ?? null, keys, epochs, grants, charged, untracked }, damaged };
}

/** Null for what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function tenantOf(value: unknown): { readonly tenant: StoredTenant; readonly damaged: boolean } {
  const row = isObject(value) ? value : {};
  const bucket = bucketOf(row["bucket"]);
  const limits = isTenantLimits(row["limits"]) ? row["limits"] : null;
  const account = accountOf(row["account"]);
  const alerts = listOf(row["alerts"]).filter(isAlert);
  const uncovered = row["uncoveredTokens"];
  const uncoveredTokens = isFiniteNumber(uncovered) && uncovered > 0 ? capped(uncovered) : 0;
  const tenant = { bucket: bucket ?? SPENT_BUCKET, uncoveredTokens, limits, account: account?.account ?? null, alerts };
  const lost = bucket === null || account?.damaged === true || (account === null && row["account"] !== null);
  return { tenant, damaged: lost || (limits === null && row["limits"] !== null) };
}

function bucketOf(value: unknown): TokenBucket | null {
  if (!isObject(value)) return null;
  const { capTokens, levelTokens, atMs } = value;
  if (!isAmount(capTokens) || !isFiniteNumber(levelTokens) || !isFiniteNumber(atMs)) return null;
  return adjustBucket({ capTokens, levelTokens, atMs }, 0);
}

function keyOf(value: unknown): StoredKey | null {
  if (!isObject(value) || !isKeyLimits(value["limits"])) return null;
  const read = accountOf(value["account"]);
  return read === null ? null : { limits: value["limits"], account: read.account };
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

function epochOf(
  cell: string,
  epoch: number,
  value: unknown,
): { readonly epoch: StoredEpoch; readonly untracked: readonly Untracked[] } | null {
  if (!isObject(value) || !isAmount(value["applied"]) || !Array.isArray(value["holdings"])) return null;
  const untracked: Untracked[] = [];
  const holdings = value["holdings"].flatMap((each: unknown): readonly StoredHolding[] => {
    const holding = holdingOf(each);
    if (holding !== null) return [holding];
    const purse = isObject(each) ? each["purse"] : null;
    untracked.push({ cell, purse: typeof purse === "string" ? purse : null });
    return [];
  });
  const lostAtMs = isFiniteNumber(value["lostAtMs"]) ? value["lostAtMs"] : null;
  return { epoch: { cell, epoch, applied: value["applied"], lostAtMs, holdings }, untracked };
}

function holdingOf(value: unknown): StoredHolding | null {
  if (!isObject(value)) return null;
  const { purse, newestN, ended } = value;
  const [granted, adopted, released] = [value["granted"], value["adopted"], value["released"]].map(readTotals);
  if (!granted || !adopted || !released || !isAmount(newestN)) return null;
  return {
    purse: typeof purse === "string" ? purse : null,
    granted,
    adopted,
    released,
    newestN,
    ended: ended !== false,
  };
}

function grantOf(cell: string, epoch: number, purse: string | null, value: unknown): GrantRow | null {
  if (!isObject(value)) return null;
  const { last, openUntilMs, capTokens } = value;
  const granted = readTotals(value["granted"]);
  if (granted === null || !isLastLease(last) || !isFiniteNumber(openUntilMs) || !isAmount(capTokens)) return null;
  return { cell, epoch, purse, granted, last, openUntilMs, capTokens };
}

function isLastLease(value: unknown): value is LastLease {
  return isObject(value) && isAmount(value["n"]) && isAmounts(value["grant"]) && isAmount(value["ttlMs"]);
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

/**
 * From what a TenantBudget stored to what it holds, and back (see stored.ts for why grants count on top). Times that an earlier
 * life wrote are never later than now: its clock may have been another one, or was ahead.
 */
import { capped } from "./amounts.ts";
import { type EpochState, Holdings, NO_HOLDING } from "./holdings.ts";
import { LEASE_MAX_MS } from "./lease-size.ts";
import type { GrantRow, StoredEpoch, StoredState } from "./stored.ts";
import { adjustBucket, fullBucket, type TokenBucket, touchBucket } from "./token-bucket.ts";
import { amountsOf, storedTotals, subtractTotals, totalsFrom } from "./totals.ts";

export interface Restored {
  readonly bucket: TokenBucket;
  /**
   * Tokens that were granted and that no bucket covers, not even one in debt: more was granted since the checkpoint than there
   * was, because some had come back. What comes back once more goes here first.
   */
  readonly uncoveredTokens: number;
  readonly holdings: Holdings;
}

/** The stored row of an epoch as it stands. */
export function storedEpoch(state: EpochState): StoredEpoch {
  return {
    cell: state.cell,
    epoch: state.epoch,
    applied: state.applied,
    lostAtMs: state.lostAtMs,
    holdings: [...state.holdings].map(([purse, holding]) => ({
      purse,
      granted: storedTotals(holding.granted),
      adopted: storedTotals(holding.adopted),
      released: storedTotals(holding.released),
      newestN: holding.newestN,
      ended: holding.openUntilMs === null,
    })),
  };
}

/** The row of the newest grant of a purse; null when it never had one. */
export function grantRow(state: EpochState, purse: string | null, capTokens: number): GrantRow | null {
  const { granted, last, openUntilMs } = state.holdings.get(purse) ?? NO_HOLDING;
  if (last === null || openUntilMs === null) return null;
  return { cell: state.cell, epoch: state.epoch, purse, granted: storedTotals(granted), last, openUntilMs, capTokens };
}

function epochOf(stored: StoredEpoch, nowMs: number): EpochState {
  const { cell, epoch, applied } = stored;
  const lostAtMs = stored.lostAtMs === null ? null : Math.min(stored.lostAtMs, nowMs);
  const holdings = new Map(
    stored.holdings.map(({ purse, granted, adopted, released, newestN }) => {
      const totals = { granted: totalsFrom(granted), adopted: totalsFrom(adopted), released: totalsFrom(released) };
      return [purse, { ...NO_HOLDING, ...totals, newestN }] as const;
    }),
  );
  return { cell, epoch, applied, durable: applied, lastHeardMs: nowMs, lostAtMs, holdings };
}

/** Puts a grant that is newer than the checkpoint on top of it; answers what it took from the bucket since. */
function overlay(state: EpochState, row: GrantRow, openUntilMs: number): number {
  const holding = state.holdings.get(row.purse) ?? NO_HOLDING;
  const { last } = row;
  const granted = totalsFrom(row.granted);
  state.holdings.set(row.purse, { ...holding, granted, last, newestN: last.n, openUntilMs });
  return amountsOf(subtractTotals(granted, holding.granted)).bucketTokens;
}

/** The newest lease of a checkpoint, so that a retry gets it again. */
function reopen(state: EpochState, row: GrantRow, openUntilMs: number | null): void {
  const holding = state.holdings.get(row.purse) ?? NO_HOLDING;
  state.holdings.set(row.purse, { ...holding, last: row.last, openUntilMs });
}

/** What an object holds that starts from what was stored, while its time is `nowMs`. */
export function restore(stored: StoredState, nowMs: number): Restored {
  const states = stored.epochs.map((epoch) => epochOf(epoch, nowMs));
  let takenSince = 0;
  for (const row of stored.grants) {
    const kept = stored.epochs
      .find((epoch) => epoch.cell === row.cell && epoch.epoch === row.epoch)
      ?.holdings.find((holding) => holding.purse === row.purse);
    let state = states.find((each) => each.cell === row.cell && each.epoch === row.epoch);
    if (state === undefined) {
      const { cell, epoch } = row;
      state = epochOf({ cell, epoch, applied: 0, lostAtMs: null, holdings: [] }, nowMs);
      states.push(state);
    }
    const openUntilMs = Math.min(row.openUntilMs, nowMs + LEASE_MAX_MS);
    if (kept === undefined || kept.newestN < row.last.n) takenSince += overlay(state, row, openUntilMs);
    else reopen(state, row, kept.ended || kept.newestN > row.last.n ? null : openUntilMs);
  }
  const holdings = new Holdings();
  for (const state of states) holdings.add(state);
  for (const { cell, purse } of stored.untracked) holdings.loseTrack(cell, purse, nowMs);
  return { ...bucketOf(stored, takenSince, nowMs), holdings };
}

function bucketOf(stored: StoredState, takenSince: number, nowMs: number): Omit<Restored, "holdings"> {
  const stale = stored.tenant?.bucket ?? fullBucket(0, nowMs);
  // A bucket that is younger than the checkpoint started full.
  const capTokens = stale.capTokens === 0 ? Math.max(0, ...stored.grants.map((row) => row.capTokens)) : stale.capTokens;
  const refilled = touchBucket({ ...stale, atMs: Math.min(stale.atMs, nowMs) }, capTokens, nowMs);
  // What was granted of a purse whose row is damaged may have been all of it.
  const taken = stored.untracked.length > 0 ? Math.max(0, refilled.levelTokens) : takenSince;
  const bucket = adjustBucket(refilled, -taken);
  const before = stored.tenant?.uncoveredTokens ?? 0;
  return { bucket, uncoveredTokens: capped(before + bucket.levelTokens - (refilled.levelTokens - taken)) };
}

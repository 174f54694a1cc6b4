/** From what a TenantBudget stored to what it holds, and back (see stored.ts for why grants count on top). */
import { type EpochState, Holdings, NO_HOLDING } from "./holdings.ts";
import type { GrantRow, StoredEpoch, StoredState } from "./stored.ts";
import { fullBucket, type TokenBucket, touchBucket } from "./token-bucket.ts";

export interface Restored {
  readonly bucket: TokenBucket;
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
      granted: holding.granted,
      adopted: holding.adopted,
      released: holding.released,
      newestN: holding.newestN,
      ended: holding.openUntilMs === null,
    })),
  };
}

/** The row of the newest grant of a purse; null when it never had one. */
export function grantRow(state: EpochState, purse: string | null, capTokens: number): GrantRow | null {
  const { granted, last, openUntilMs } = state.holdings.get(purse) ?? NO_HOLDING;
  if (last === null || openUntilMs === null) return null;
  return { cell: state.cell, epoch: state.epoch, purse, granted, last, openUntilMs, capTokens };
}

function epochOf(stored: StoredEpoch, nowMs: number): EpochState {
  const { cell, epoch, applied, lostAtMs } = stored;
  const holdings = new Map(
    stored.holdings.map(({ purse, ended: _ended, ...rest }) => [purse, { ...NO_HOLDING, ...rest }] as const),
  );
  return { cell, epoch, applied, durable: applied, lastHeardMs: nowMs, lostAtMs, holdings };
}

/** Puts a grant that is newer than the checkpoint on top of it; answers what it took from the bucket since. */
function overlay(state: EpochState, row: GrantRow): number {
  const holding = state.holdings.get(row.purse) ?? NO_HOLDING;
  const { granted, last, openUntilMs } = row;
  state.holdings.set(row.purse, { ...holding, granted, last, newestN: last.n, openUntilMs });
  return granted.bucketTokens - holding.granted.bucketTokens;
}

/** The newest lease of a checkpoint, so that a retry gets it again. */
function reopen(state: EpochState, row: GrantRow, ended: boolean): void {
  const holding = state.holdings.get(row.purse) ?? NO_HOLDING;
  state.holdings.set(row.purse, { ...holding, last: row.last, openUntilMs: ended ? null : row.openUntilMs });
}

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
    if (kept === undefined || kept.newestN < row.last.n) takenSince += overlay(state, row);
    else reopen(state, row, kept.ended || kept.newestN > row.last.n);
  }
  const holdings = new Holdings();
  for (const state of states) holdings.add(state);
  const stale = stored.tenant?.bucket ?? fullBucket(0, nowMs);
  // A bucket that is younger than the checkpoint started full.
  const capTokens = stale.capTokens === 0 ? Math.max(0, ...stored.grants.map((row) => row.capTokens)) : stale.capTokens;
  const refilled = touchBucket(stale, capTokens, nowMs);
  return { bucket: { ...refilled, levelTokens: refilled.levelTokens - takenSince }, holdings };
}

/**
 * What a TenantBudget writes down, so that a crash forgets nothing that binds. A grant is stored before it is answered;
 * everything else follows in a checkpoint, and Cells keep their batches until then. After a crash the level is that of
 * the checkpoint less every grant since, and the batches since are sent again. How rows are read: read-stored.ts.
 */
import type { BudgetAlert } from "./alerts.ts";
import type { Charged } from "./charged-requests.ts";
import type { LastLease } from "./holdings.ts";
import type { KeyLimits, TenantLimits } from "./limits.ts";
import type { TermAccount } from "./term-budget.ts";
import type { TokenBucket } from "./token-bucket.ts";
import type { StoredTotals } from "./totals.ts";

/** One row per (cell, epoch, purse): what was granted in all, and the newest lease. */
export interface GrantRow {
  readonly cell: string;
  readonly epoch: number;
  readonly purse: string | null;
  readonly granted: StoredTotals;
  readonly last: LastLease;
  readonly openUntilMs: number;
  /** Cap of the bucket that it was taken from. */
  readonly capTokens: number;
}

export interface StoredHolding {
  readonly purse: string | null;
  /** The total at the checkpoint: what the grant row has beyond it was taken from the bucket since. */
  readonly granted: StoredTotals;
  readonly adopted: StoredTotals;
  readonly released: StoredTotals;
  readonly newestN: number;
  readonly ended: boolean;
}

export interface StoredEpoch {
  readonly cell: string;
  readonly epoch: number;
  readonly applied: number;
  readonly lostAtMs: number | null;
  readonly holdings: readonly StoredHolding[];
}

export interface StoredTenant {
  readonly bucket: TokenBucket;
  /** See restore.ts. */
  readonly uncoveredTokens: number;
  readonly limits: TenantLimits | null;
  readonly account: TermAccount | null;
  readonly alerts: readonly BudgetAlert[];
}

/** What is known of requests of which more than one life of a Cell may tell, by request id, the latest last. */
export type StoredCharged = readonly (readonly [requestId: string, charged: Charged])[];

export interface StoredKey {
  readonly limits: KeyLimits;
  readonly account: TermAccount;
}

/** The changes since the last checkpoint; all of it must be stored in one transaction. */
export interface Checkpoint {
  readonly tenant: StoredTenant;
  readonly keys: readonly StoredKey[];
  readonly epochs: readonly StoredEpoch[];
  /** Null: unchanged. */
  readonly charged: StoredCharged | null;
  /** Epochs of which every row can go, grants included. */
  readonly forgotten: readonly { readonly cell: string; readonly epoch: number }[];
}

/** A purse of which a row could not be read: what is out of it is not known. */
export interface Untracked {
  readonly cell: string;
  readonly purse: string | null;
}

/** Everything that was stored. */
export interface StoredState {
  readonly tenant: StoredTenant | null;
  readonly keys: readonly StoredKey[];
  readonly epochs: readonly StoredEpoch[];
  readonly grants: readonly GrantRow[];
  readonly charged: StoredCharged;
  readonly untracked: readonly Untracked[];
}

export const NOTHING_STORED: StoredState = {
  tenant: null,
  keys: [],
  epochs: [],
  grants: [],
  charged: [],
  untracked: [],
};

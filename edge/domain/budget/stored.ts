/**
 * What a TenantBudget writes down, so that a crash forgets nothing that binds. A grant is stored before it is answered;
 * everything else follows in a checkpoint, and Cells keep their batches until then. After a crash the level is that of
 * the checkpoint less every grant since, and the batches since are sent again.
 */
import type { BudgetAlert } from "./alerts.ts";
import type { Amounts } from "./amounts.ts";
import type { LastLease } from "./holdings.ts";
import type { KeyLimits, TenantLimits } from "./limits.ts";
import type { TermAccount } from "./term-budget.ts";
import type { TokenBucket } from "./token-bucket.ts";

/** One row per (cell, epoch, purse): what was granted in all, and the newest lease. */
export interface GrantRow {
  readonly cell: string;
  readonly epoch: number;
  readonly purse: string | null;
  readonly granted: Amounts;
  readonly last: LastLease;
  readonly openUntilMs: number;
  /** Cap of the bucket that it was taken from. */
  readonly capTokens: number;
}

export interface StoredHolding {
  readonly purse: string | null;
  /** The total at the checkpoint: what the grant row has beyond it was taken from the bucket since. */
  readonly granted: Amounts;
  readonly adopted: Amounts;
  readonly released: Amounts;
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
  readonly limits: TenantLimits | null;
  readonly account: TermAccount | null;
  readonly alerts: readonly BudgetAlert[];
}

export interface StoredKey {
  readonly limits: KeyLimits;
  readonly account: TermAccount;
}

/** The changes since the last checkpoint; all of it must be stored in one transaction. */
export interface Checkpoint {
  readonly tenant: StoredTenant;
  readonly keys: readonly StoredKey[];
  readonly epochs: readonly StoredEpoch[];
  /** Epochs of which every row can go, grants included. */
  readonly forgotten: readonly { readonly cell: string; readonly epoch: number }[];
}

/** Everything that was stored. */
export interface StoredState {
  readonly tenant: StoredTenant | null;
  readonly keys: readonly StoredKey[];
  readonly epochs: readonly StoredEpoch[];
  readonly grants: readonly GrantRow[];
}

export const NOTHING_STORED: StoredState = { tenant: null, keys: [], epochs: [], grants: [] };

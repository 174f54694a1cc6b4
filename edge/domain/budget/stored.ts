/**
 * What a TenantBudget writes down, so that a crash forgets nothing that binds. A lease is stored before it is answered;
 * everything else follows in a checkpoint, and Cells repeat their word until then. After a crash the state is that of the
 * checkpoint with every lease granted since. How rows are read: read-stored.ts.
 */
import type { BudgetAlert } from "./alerts.ts";
import type { Charged } from "./charged-requests.ts";
import type { KeyCounter } from "./counters.ts";
import type { TenantLimits } from "./limits.ts";
import type { PlacedLease } from "./outstanding-lease.ts";
import type { TermAccount } from "./term-budget.ts";
import type { TokenBucket } from "./token-bucket.ts";

/** A life of a cell, without its leases; see CellLife. */
export interface StoredLife {
  readonly cell: string;
  readonly life: number;
  readonly askedN: number;
  readonly openedN: number;
}

export interface StoredTenant {
  /** Counts the checkpoints of the object. */
  readonly checkpoint: number;
  readonly bucket: TokenBucket;
  /** See TenantBucket. */
  readonly uncoveredTokens: number;
  readonly limits: TenantLimits | null;
  readonly account: TermAccount | null;
  readonly alerts: readonly BudgetAlert[];
  /** Leases of the tenant's own pool, and of keys that no limits are known of. */
  readonly leases: readonly PlacedLease[];
  readonly lives: readonly StoredLife[];
}

export interface StoredKey extends KeyCounter {
  /** Leases of the key's pool. */
  readonly leases: readonly PlacedLease[];
}

/** Leases of one pool that were granted since a checkpoint. */
export interface StoredGrants {
  readonly pool: string | null;
  /** The checkpoint before them; one that is stored later has them. */
  readonly checkpoint: number;
  /** Cap of the bucket that they were taken from. */
  readonly capTokens: number;
  readonly leases: readonly PlacedLease[];
}

/** What is known of requests of which more than one life of a Cell may tell, by request id, the latest last. */
export type StoredCharged = readonly (readonly [requestId: string, charged: Charged])[];

/** The changes since the last checkpoint; all of it must be stored in one transaction. */
export interface Checkpoint {
  /** All that was applied up to this count is in it. */
  readonly applied: number;
  readonly tenant: StoredTenant;
  readonly keys: readonly StoredKey[];
  /** Null: unchanged. */
  readonly charged: StoredCharged | null;
}

/** Everything that was stored. */
export interface StoredState {
  readonly tenant: StoredTenant | null;
  readonly keys: readonly StoredKey[];
  /** Those since the checkpoint. */
  readonly grants: readonly StoredGrants[];
  readonly charged: StoredCharged;
  /** Pools of which a row could not be read: what is out of them is not known. */
  readonly untracked: readonly (string | null)[];
}

export const NOTHING_STORED: StoredState = { tenant: null, keys: [], grants: [], charged: [], untracked: [] };

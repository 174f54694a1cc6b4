/** Requests that want to draw from a pool, and what becomes of them. Plain data. */
import type { Amounts } from "./amounts.ts";
import type { Refusal, Tags } from "./api.ts";
import type { GivenUp } from "./ask-pace.ts";
import type { CellLease } from "./cell-lease.ts";
import type { BudgetLimits } from "./limits.ts";

/** A request that wants to draw. */
export interface Waiter {
  readonly requestId: string;
  readonly limits: BudgetLimits;
  readonly tags: Tags;
  readonly need: Amounts;
}

/** What became of a waiter. */
export type Outcome =
  | { readonly kind: "drawn"; readonly waiter: Waiter; readonly lease: CellLease }
  | { readonly kind: "refused"; readonly waiter: Waiter; readonly reason: Refusal }
  | GivenUpWaiter;

/** Given up: without an answer to go by, or because the ask was none. */
export interface GivenUpWaiter {
  readonly kind: GivenUp;
  readonly waiter: Waiter;
}

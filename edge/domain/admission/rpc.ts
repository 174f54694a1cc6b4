/**
 * The messages between a request and its Cell (docs/rules/admission.md#exchanges): the admission request, its answer, the
 * settlement. Plain data only, so that it survives RPC. The admission request carries everything the Cell needs to decide;
 * the Cell reads nothing.
 */

import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import type { CellMetrics, CellStats, Change, RevItem } from "../../../shared/wire/internal.ts";
import type { Amounts } from "../budget/amounts.ts";
import type { BudgetLimits } from "../budget/limits.ts";
import type { RefusalCode } from "../budget/spender/verdict.ts";
import type { BucketLevel } from "../budget/token-bucket.ts";
import type { CountedEvent } from "../cell/event-counters.ts";
import type { HistorySample } from "../cell/history.ts";
import type { Arrival, LiveSnapshot } from "../fairshare/types.ts";
import type { UpstreamOutcomes } from "../upstream/attempt-outcomes.ts";

/** A request for one slot: the inputs of the scheduler, and additional ones of the Cell. */
export interface AdmissionRequest extends Arrival {
  /** Revisions of every record that the request was built from: key, tenant, group, model. */
  readonly revs: readonly RevItem[];
  /** When the caller's access ends, or may end, epoch ms: from then on a waiting request is checked again. Null: never. */
  readonly openUntilMs: number | null;
  /**
   * How long the request has waited before, ms: it has a place in the queue, or lost one to a reset, or its row may have been
   * written. Null: its first admission request.
   */
  readonly waitedMs: number | null;
  /** An earlier message with it may have arrived, and its row may have been written. */
  readonly again?: boolean;
  /** Numbers the admission requests of one isolate: an answer names the one that it answers. */
  readonly ask?: number;
  /** It returns what it has: a grant that came too late, or a refusal that it does not accept. */
  readonly anew?: boolean;
  /**
   * Skeleton of the usage row as it would be if nothing more came from the request: the Cell completes it with status,
   * tokens and times when the request is lost.
   */
  readonly row: UsageRow;
  /**
   * The budgets that bind the request, and what it reserves of them (docs/rules/budgets.md#one-decision); clamped, like
   * every amount (docs/rules/budgets.md#amounts).
   */
  readonly limits: BudgetLimits;
  /** The budget of its end user. Null, or absent in messages of older releases: none binds it. */
  readonly endUserLimits?: BudgetLimits | null;
  readonly need: Amounts;
  /** A sub-call that reserves `need` before it runs: a response on the slot of its session (docs/rules/realtime.md#budgets). */
  readonly reserves?: true;
  /** The bill of the row if the request is lost while it runs (docs/rules/budgets.md#settlement). */
  readonly estimate: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly costUsd: number;
  };
}

/** The slot that a request got by fairshare. */
export interface SlotTaken {
  readonly admission: "fast" | "queued" | "batch";
  /** Whole ms; 0 when fast. */
  readonly queueWaitMs: number;
}

/** A slot granted by fairshare, with everything that the budgets reserve for it. */
export interface Grant extends SlotTaken {
  /** The bucket after this request's reserve; null without a per-minute cap, or when its level is not known. */
  readonly level: BucketLevel | null;
}

/**
 * Why a request whose turn had come was refused (docs/rules/budgets.md#one-decision, docs/rules/budgets.md#unreachable).
 * Its slot is free again.
 */
export interface BudgetRefusal {
  readonly code: RefusalCode | "end_user_budget_exhausted" | "budget_check_failed" | "key_budget_check_failed";
  /** Of a 429 only: whole ms until the bucket may hold the estimate, at least 1. */
  readonly retryAfterMs: number | null;
  readonly level: BucketLevel | null;
}

/**
 * Why a request gets no slot: its budgets refuse, or the queue is full (docs/rules/admission.md#queue-bounds). It holds
 * nothing.
 */
export interface Refusal extends Omit<BudgetRefusal, "code"> {
  readonly code: BudgetRefusal["code"] | "queue_full";
}

/** The Cell's decision on one request. */
export type Decision =
  | { readonly verdict: "granted"; readonly grant: Grant }
  | { readonly verdict: "refused"; readonly refusal: Refusal };

/**
 * Some record is older than the newest that the Cell knows: drop these items, read again, send the admission request once more
 * (docs/rules/freshness.md#revisions). Without items only time has passed, and the request must be checked again. A request that
 * waited keeps its place until then.
 */
export interface Stale {
  readonly verdict: "stale";
  readonly items: readonly RevItem[];
}

/** The end of a request that held a slot, waited for one, or was refused. */
export interface Settlement {
  /** The completed row; its cell, admission and queue_wait_ms are filled in by the Cell from the grant. */
  readonly row: UsageRow;
  /** Tokens to correct the scheduler's charge with: 0 refunds it in full (docs/rules/fairshare.md#served-score). */
  readonly actualTokens: number;
  /** How its attempts at upstreams ended, to be counted with the row. */
  readonly upstream?: UpstreamOutcomes | undefined;
}

/** An answer that needs no slot (a hit in the response cache), as the Cell sees it before it is sent. */
export interface CacheHit {
  /** Revisions of every record that it rests on, as in an admission request. */
  readonly revs: readonly RevItem[];
  /** The limits of the bucket whose level the answer states; null: no cap applies. */
  readonly limits: BudgetLimits | null;
  /** The complete usage row. */
  readonly row: UsageRow;
  /** An earlier message with this hit may have arrived. */
  readonly again?: true;
}

/** RPC surface of the Cell object. */
export interface CellApi {
  /** A name for this life of the object: whatever is only in memory belongs to this life. `member`: the calling isolate. */
  life(member: string): Promise<string>;
  /**
   * A row of a request that never asked for a slot. Resolves when it is durable, or only counted, as unauthenticated refusals above
   * their limit are (docs/rules/settlement-and-rows.md#refusals).
   */
  record(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void>;
  /** The row of a request whose session cannot take it: its end, deduplicated by request id. */
  settleOrphan(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void>;
  /** The items for which the Cell knows a newer one (for routes that need no admission). */
  staleAmong(items: readonly RevItem[]): Promise<readonly RevItem[]>;
  /** The bucket's level for a response that reserved nothing; null without a cap, or when it cannot be read. */
  level(limits: BudgetLimits): Promise<BucketLevel | null>;
  /** Notes the revisions, and applies the values of those that are not older than the known ones. */
  invalidate(changes: readonly Change[]): Promise<void>;
  /** Outlives the object; null returns to the configured cap. A lower one aborts no request (docs/rules/fairshare.md#capacity). */
  setCapacity(maxInFlight: number | null): Promise<CellStats>;
  /** Who holds slots and who waits, and which limit holds each queue up (docs/rules/fairshare.md#live-view). */
  fairshareLive(): Promise<LiveSnapshot>;
  /** Samples of the last hour from `sinceMs` on, ascending (docs/rules/fairshare.md#history). */
  fairshareHistory(sinceMs: number): Promise<readonly HistorySample[]>;
  /** Adds to the counters of events that leave no usage row. */
  tally(counted: readonly CountedEvent[]): Promise<void>;
  stats(): Promise<CellStats>;
  /** Whether the request waits or holds a slot, or may show up again. */
  isEntered(requestId: string): Promise<boolean>;
  /** How many requests of each model hold a slot; models without one are left out. */
  inFlightByModel(): Promise<readonly (readonly [modelName: string, inFlight: number])[]>;
  metrics(): Promise<CellMetrics>;
  /** Returns every lease that no request draws from, and reports what has ended: the process may stop. */
  reportBudgets(): Promise<void>;
}

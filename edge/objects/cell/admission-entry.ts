/**
 * One request at the Cell's desk, and what of it is charged where. Plain records and sums; who may do what with a seat is
 * decided by the desk (admission-controller.ts).
 */

import { orphanedSettlement, type SlotTaken } from "../../domain/admission/permit-end.ts";
import type { AdmissionRequest, BudgetRefusal, Decision, Settlement, Stale } from "../../domain/admission/rpc.ts";
import { type ActualUsage, nanoUsdOf } from "../../domain/budget/amounts.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import type { Arrival } from "../../domain/fairshare/types.ts";

/** One arrival. Only the desk reads it; a permit just hands it back. */
export interface AdmissionEntry {
  readonly ask: AdmissionRequest;
  /** When it began to wait, by this Cell's clock, epoch ms. */
  readonly arrivedMs: number;
  /** The revisions that its records were found to be the newest by (revisions.ts). */
  generation: number;
  /** Null while the scheduler has not granted one. */
  slot: SlotTaken | null;
  /** Null while it waits. `stale`: its turn has come, and it is to be judged again; it keeps its place. */
  decision: Decision | Stale | null;
  /** An earlier permit of it was abandoned: there is a row already, and this is charged for it; null: no. */
  readonly charged: ActualUsage | null;
  /** An earlier permit of it, or an earlier life of this Cell, may have written its row: another one is held against the log. */
  mayHaveRow: boolean;
  /** Its holder calls the upstream: a grant in the answer to the ask is used at once, a later one when the holder says so. */
  inUse: boolean;
  readonly waiters: { resolve(decision: Decision | Stale): void; reject(error: Error): void }[];
}

/** What the budgets say to a request whose turn has come. */
export type BudgetVerdict =
  | { readonly kind: "ok"; readonly level: BucketLevel | null }
  | { readonly kind: "refused"; readonly refusal: BudgetRefusal };

/** The budgets, as the desk sees them (design §7). Calls return at once; verdicts come by `AdmissionController.judged`. */
export interface BudgetPort {
  /** The request waits for a slot; its tokens may be fetched meanwhile. */
  expect(ask: AdmissionRequest): void;
  /** The request has its slot: draw, all or nothing. The verdict may come before this returns. */
  reserve(ask: AdmissionRequest): void;
  /** The request left before a verdict. */
  withdraw(ask: AdmissionRequest): void;
  /** The request ended after it was let through. `goesOn`: its permit was lost, and it may be adopted by a later Cell. */
  settle(ask: AdmissionRequest, used: ActualUsage, goesOn?: boolean): void;
  /** The request was let through by an earlier life of this Cell. */
  adopt(ask: AdmissionRequest): void;
  /** The request was settled when its permit was lost, and goes on: what it uses is charged at its end. */
  readmit(ask: AdmissionRequest): void;
}

export const NO_USAGE: ActualUsage = { tokens: 0, nanoUsd: 0 };

/** The settlement of a seat whose holder is gone. */
export function lostSettlement({ ask, decision, inUse, arrivedMs }: AdmissionEntry, nowMs: number): Settlement {
  return orphanedSettlement(ask, { granted: decision?.verdict === "granted", upstreamCalled: inUse, arrivedMs }, nowMs);
}

/** What a settlement charges. */
export function usedBy({ row, actualTokens }: Settlement): ActualUsage {
  return { tokens: actualTokens, nanoUsd: nanoUsdOf(row.cost_usd) };
}

/** The larger of both, part by part. */
export function largerUsage(used: ActualUsage, charged: ActualUsage | null): ActualUsage {
  if (charged === null) return used;
  return { tokens: Math.max(used.tokens, charged.tokens), nanoUsd: Math.max(used.nanoUsd, charged.nanoUsd) };
}

/** What is to be charged of what a request used, where its lost permit has been charged already. */
export function usageBeyond(used: ActualUsage, charged: ActualUsage | null): ActualUsage {
  if (charged === null) return used;
  return {
    tokens: Math.max(0, used.tokens - charged.tokens),
    nanoUsd: Math.max(0, used.nanoUsd - charged.nanoUsd),
  };
}

/** What the scheduler decides about. */
export function arrivalOf(ask: AdmissionRequest): Arrival {
  const { requestId, tenant, group, model, costTokens } = ask;
  return { requestId, tenant, group, model, costTokens };
}

/**
 * What travels between a Cell and the TenantBudget object of a tenant. Plain data. Every message may be lost, repeated
 * or delayed: a lease is granted once per (cell, epoch, purse, n), a batch is applied once per (cell, epoch, sequence),
 * and batches are applied without gaps. The Cell keeps a batch until the object has stored it.
 */
import type { BudgetAlert } from "./alerts.ts";
import type { Actual, Amounts } from "./amounts.ts";
import type { BudgetLimits } from "./limits.ts";
import type { BucketLevel, TokenBucket } from "./token-bucket.ts";
import type { BudgetUsage } from "./usage-view.ts";

/** Period tags at the start of a request: only these counters are charged (decisions §19.2). */
export interface Tags {
  readonly tenant: string;
  readonly key: string;
}

/**
 * What a line says of `released`. `settled`: these reservations ended, or were given back unspent. `adopted`: they are of an
 * earlier life of this cell and go on in this one. `lost`: nobody can say what became of them; they count as spent until the
 * ledger has been asked. `doubled`: adopted, but of this very life and drawn there; no bucket was debited for them. Only what
 * is settled has used anything.
 */
export type LineKind = "settled" | "adopted" | "lost" | "doubled";

/** A request whose end is told by itself, because it may be told twice. */
export interface SettledRequest {
  readonly id: string;
  /** Its Cell lost sight of it and settled it by the estimate, though it may still run and be adopted; else it has ended. */
  readonly goesOn: boolean;
  /** What it used is counted from the last time that this life of the Cell told of it; else it is all that it used. */
  readonly since: boolean;
}

/**
 * Settlements of one key, purse and period, summed; also what is given back unspent (nothing used). Every number is an
 * amount: a line with another number is left out.
 */
export interface SettleLine {
  /** The purse that `released` was drawn from. */
  readonly purse: string | null;
  /** Whose counters are charged. */
  readonly limits: BudgetLimits;
  readonly tags: Tags;
  /** Reservations, at the size they were taken. */
  readonly released: Amounts;
  readonly used: Actual;
  readonly kind: LineKind;
  /** Of a line that is one request's; absent: a sum of any number. */
  readonly request?: SettledRequest;
}

/** The Cell will draw no more from lease `n`. `void`: it never got the answer, so whatever `n` was granted goes back. */
export interface LeaseEnd {
  readonly purse: string | null;
  readonly n: number;
  readonly void: boolean;
}

export interface Batch {
  /** 1, 2, 3 ... per (cell, epoch). */
  readonly sequence: number;
  readonly lines: readonly SettleLine[];
  readonly ends: readonly LeaseEnd[];
}

export interface Report {
  readonly cell: string;
  /** One life of a wallet; larger than any that the cell used before for this tenant, whatever clocks say. */
  readonly epoch: number;
  /** Sequence numbers up to here are no longer held by the Cell: the object once said that it has stored them. */
  readonly base: number;
  /** The newest sequence number that exists. */
  readonly through: number;
  /** Those that the object may lack, ascending. */
  readonly batches: readonly Batch[];
  /** Ids of alerts that have left the Cell for hands that outlive it. */
  readonly alertsSeen: readonly string[];
}

export interface ReportAnswer {
  /** Applied up to here; less than `through` asks for the missing ones. */
  readonly applied: number;
  /** Stored up to here: the Cell may forget these. */
  readonly durable: number;
  readonly alerts: readonly BudgetAlert[];
}

export interface LeaseRequest {
  readonly report: Report;
  readonly limits: BudgetLimits;
  readonly purse: string | null;
  /** Rising per epoch; a retry repeats the number. */
  readonly n: number;
  readonly need: Amounts;
  readonly want: Amounts;
}

export type Refusal = "rate" | "key" | "tenant";

export type LeaseVerdict =
  | { readonly kind: "granted"; readonly grant: Amounts; readonly ttlMs: number }
  | { readonly kind: "refused"; readonly reason: Refusal }
  /** Batches are missing: send them and ask again under the same `n`. */
  | { readonly kind: "behind" }
  /** A newer ask of this purse, or a newer life of this cell, is known. */
  | { readonly kind: "stale" }
  /** A number of the ask is none to decide by, which is a defect of ours (decisions §43.1): nothing was decided. */
  | { readonly kind: "invalid"; readonly field: string };

export interface LeaseAnswer {
  readonly report: ReportAnswer;
  readonly verdict: LeaseVerdict;
  /** After the verdict; cap 0 without a per-minute cap. */
  readonly bucket: TokenBucket;
}

/** RPC surface of the TenantBudget object, named by tenant id. */
export interface TenantBudgetApi {
  lease(request: LeaseRequest): Promise<LeaseAnswer>;
  settleBatch(report: Report): Promise<ReportAnswer>;
  /** The level for headers of responses that reserved nothing; null without a per-minute cap. */
  level(limits: BudgetLimits): Promise<BucketLevel | null>;
  /** Decisions §3.5. */
  usage(whose: "tenant" | "key", limits: BudgetLimits, activeUntilMs: number | null): Promise<BudgetUsage>;
  /** Holds a counter against the ledger, which can only raise it (decisions §19.6). False: the ledger did not answer. */
  rebuild(whose: "tenant" | "key", limits: BudgetLimits): Promise<boolean>;
}

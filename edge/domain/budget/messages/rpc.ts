/**
 * The messages between a Cell and the TenantBudget object of a tenant. Plain data. Every message may be lost, repeated,
 * delayed or overtaken: a lease request is decided once per number, and what a Cell reports of a lease is its complete
 * state so far. The Cell numbers its leases and every change of them; these numbers rise within its life, and each is given
 * once. A report has the number of the newest change, and every change that the object may not have stored. So a newer
 * report replaces an older one, and the same report twice changes nothing. The Cell repeats its reports until the object
 * has stored them.
 */
import type { BudgetAlert } from "../alerts.ts";
import { type ActualUsage, type Amounts, countsIn } from "../amounts.ts";
import type { BudgetLimits } from "../limits.ts";
import { byRate, type RateReason } from "../rates.ts";
import type { PeriodTags } from "../term-budget.ts";
import { type BucketLevel, NO_BUCKET, type OwnedBuckets, type TokenBucket } from "../token-bucket.ts";
import type { BudgetUsage } from "../usage-view.ts";

/** No lease lives longer. */
export const LEASE_MAX_MS = 20_000;

/** What requests of one key and period used of a lease, in total. */
export interface UsedLine {
  /** The limits whose counters are charged. */
  readonly limits: BudgetLimits;
  readonly tags: PeriodTags;
  readonly used: ActualUsage;
}

/**
 * A lease that the Cell opened without a lease request. `counted`: unreserved use, of any number of requests. The other
 * kinds are of one request. `adopted`: the request goes on in this life of the Cell, and `granted` is what it drew in an
 * earlier one. `drawn`: the request drew `granted` in this life and the Cell lost contact with it; or it drew nothing and
 * is reported singly. `readmitted`: the request was reported before in this life, and what it used is counted from then on.
 */
export interface OpenedLease {
  readonly as: "counted" | "adopted" | "drawn" | "readmitted";
  readonly granted: Amounts;
  /** The lease of this life from which the request drew `granted`; null: from none. */
  readonly from: number | null;
}

/** A request that more than one life of a Cell may report; it has a lease of its own. */
export interface LeaseRequestEnd {
  readonly id: string;
  /** It may still run, and be reported again. False: it has ended. */
  readonly goesOn: boolean;
}

/** The complete state of one lease, as its Cell reports it. */
export interface LeaseReport {
  readonly n: number;
  /** Id of a key with caps of its own; null: the tenant's pool. */
  readonly pool: string | null;
  /** Ended reservations and amounts that were given back, in total. */
  readonly released: Amounts;
  readonly used: readonly UsedLine[];
  /** Nothing more will be drawn from it; for the lease of one request: the request's end is reported. */
  readonly ended: boolean;
  /** Null for a lease that was requested. */
  readonly opened: OpenedLease | null;
  /** Null for a lease that does not belong to one request. */
  readonly request: LeaseRequestEnd | null;
}

export interface BudgetReport {
  readonly cell: string;
  /** The life of the Cell: a counter that it keeps on its disk (docs/rules/budgets.md#lives-of-a-cell). */
  readonly life: number;
  /** Number of the newest change that it contains. */
  readonly sequence: number;
  /** Every changed lease whose newest state the object may not have stored, by ascending `n`. */
  readonly leases: readonly LeaseReport[];
  /**
   * Every requested lease that the Cell still knows. A lease with a number below `sequence` that is missing here is void.
   */
  readonly open: readonly number[];
  /** Ids of alerts that are durable outside the Cell. */
  readonly alertsSeen: readonly string[];
}

export interface ReportAnswer {
  /** What this life of the Cell reported up to this sequence is stored. */
  readonly stored: number;
  readonly alerts: readonly BudgetAlert[];
}

export interface LeaseRequest {
  readonly report: BudgetReport;
  readonly limits: BudgetLimits;
  readonly pool: string | null;
  /** A retry repeats the number. */
  readonly n: number;
  readonly need: Amounts;
  readonly want: Amounts;
}

/** The limit that refuses: a bucket of tenant or key, the key's budget, the tenant's budget. */
export type BindingLimit = RateReason | "key" | "tenant";

export type LeaseVerdict =
  | {
      readonly kind: "granted";
      readonly grant: Amounts;
      readonly ttlMs: number;
      /** No limit is near: what requests did not use of their reservations may be drawn again. */
      readonly ample: boolean;
    }
  | { readonly kind: "refused"; readonly reason: BindingLimit }
  /** The Cell seems not to wait for it any more, or a newer life of this Cell is known. */
  | { readonly kind: "stale" }
  /**
   * A number of the lease request is invalid, which is a defect of the gateway (docs/rules/budgets.md#amounts): nothing was
   * decided.
   */
  | { readonly kind: "invalid"; readonly field: string };

export interface LeaseAnswer {
  readonly report: ReportAnswer;
  readonly verdict: LeaseVerdict;
  /** The tenant's bucket of tokens after the verdict, for Cells of older releases. */
  readonly bucket: TokenBucket;
  /** All buckets that bind the pool, after the verdict; absent: an object of an older release answers. */
  readonly buckets?: OwnedBuckets;
}

/** What a lease holds; of what an object of an older release does not know, what was needed. */
export function grantOf(grant: Amounts, need: Amounts): Amounts {
  return { ...countsIn(need), ...grant };
}

/** The buckets of an answer; an object of an older release knows only the tenant's bucket of tokens. */
export function bucketsOf({ bucket, buckets }: Pick<LeaseAnswer, "bucket" | "buckets">): OwnedBuckets {
  return buckets ?? { tenant: { ...byRate(() => NO_BUCKET), tokens: bucket }, key: null };
}

/** RPC surface of the TenantBudget object, named by tenant id. */
export interface TenantBudgetApi {
  lease(request: LeaseRequest): Promise<LeaseAnswer>;
  report(report: BudgetReport): Promise<ReportAnswer>;
  /** Notes limits that have changed; returns the alerts that the cell has to hand on (docs/rules/budgets.md#alerts). */
  limitsChanged(limits: BudgetLimits, cell: string): Promise<readonly BudgetAlert[]>;
  /** The level for headers of responses that reserved nothing; null without a limit per minute. */
  level(limits: BudgetLimits): Promise<BucketLevel | null>;
  /** How much of a budget is used (docs/rules/budgets.md#usage-read). */
  usage(whose: "tenant" | "key", limits: BudgetLimits, activeUntilMs: number | null): Promise<BudgetUsage>;
  /**
   * Compares a counter with the ledger, which can only raise it (docs/rules/budgets.md#check-against-the-ledger). False:
   * the ledger did not answer.
   */
  rebuild(whose: "tenant" | "key", limits: BudgetLimits): Promise<boolean>;
}

/**
 * What travels between a Cell and the TenantBudget object of a tenant. Plain data. Every message may be lost, repeated,
 * delayed or overtaken: an ask is decided once per number, and what a Cell says of a lease is its whole word on it so far.
 * The Cell numbers its leases and everything that changes about them; these numbers rise within its life, and each is given
 * once. A report has the number of the newest change, and all that has changed of which the object may have stored nothing: so
 * a newer report replaces an older one, and the same report twice changes nothing. The Cell repeats its words until the object
 * has stored them.
 */
import type { BudgetAlert } from "./alerts.ts";
import type { ActualUsage, Amounts } from "./amounts.ts";
import type { BudgetLimits } from "./limits.ts";
import type { PeriodTags } from "./term-budget.ts";
import type { BucketLevel, TokenBucket } from "./token-bucket.ts";
import type { BudgetUsage } from "./usage-view.ts";

/** What requests of one key and period used of a lease, in all. */
export interface UsedLine {
  /** Whose counters are charged. */
  readonly limits: BudgetLimits;
  readonly tags: PeriodTags;
  readonly used: ActualUsage;
}

/**
 * A lease that the Cell opened without asking. `counted`: use of which nothing was reserved, of any number of requests. The
 * others are of one request. `adopted`: it goes on in this life of the Cell, and `granted` is what it drew in an earlier one.
 * `drawn`: it drew `granted` in this life, and the Cell lost sight of it; or it drew nothing and is told by itself.
 * `readmitted`: it was told before in this life, and what it used is counted from then on.
 */
export interface OpenedLease {
  readonly as: "counted" | "adopted" | "drawn" | "readmitted";
  readonly granted: Amounts;
  /** The lease of this life that a request drew `granted` from; null: from none. */
  readonly from: number | null;
}

/** A request of which more than one life of a Cell may tell; it has a lease of its own. */
export interface LeaseRequestEnd {
  readonly id: string;
  /** It may still run, and be told of again. False: it has ended. */
  readonly goesOn: boolean;
}

/** The Cell's whole word on one lease. */
export interface LeaseReport {
  readonly n: number;
  /** Key id of a key with caps of its own; null: the tenant's. */
  readonly pool: string | null;
  /** Reservations that ended and amounts that were given back, in all. */
  readonly released: Amounts;
  readonly used: readonly UsedLine[];
  /** Nothing more will be drawn from it, and of a request's own lease: it is told. */
  readonly ended: boolean;
  /** Null for a lease that was asked for. */
  readonly opened: OpenedLease | null;
  /** Null for a lease that is not one request's. */
  readonly request: LeaseRequestEnd | null;
}

export interface BudgetReport {
  readonly cell: string;
  /** Which life of the Cell: a counter that it keeps on its disk (docs/rules/budgets.md#lives-of-a-cell). */
  readonly life: number;
  /** Number of the newest change that it tells of. */
  readonly sequence: number;
  /** Every lease that has changed and of which the object may not have stored the newest word, by ascending `n`. */
  readonly leases: readonly LeaseReport[];
  /** Every lease that was asked for and that the Cell still knows. One with a number below `sequence` that is not here is void. */
  readonly open: readonly number[];
  /** Ids of alerts that have left the Cell for hands that outlive it. */
  readonly alertsSeen: readonly string[];
}

export interface ReportAnswer {
  /** What this life of the Cell told up to a report of this sequence is stored. */
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

/** The limit that refuses: the bucket, the key's budget, the tenant's. */
export type BindingLimit = "rate" | "key" | "tenant";

export type LeaseVerdict =
  | {
      readonly kind: "granted";
      readonly grant: Amounts;
      readonly ttlMs: number;
      /** No limit is near: what requests did not use of their reservations may be drawn again. */
      readonly ample: boolean;
    }
  | { readonly kind: "refused"; readonly reason: BindingLimit }
  /** The Cell no longer waits for it, as far as is known, or a newer life of this cell is known. */
  | { readonly kind: "stale" }
  /**
   * A number of the ask is none to decide by, which is a defect of ours (docs/rules/budgets.md#amounts): nothing was
   * decided.
   */
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
  report(report: BudgetReport): Promise<ReportAnswer>;
  /** The level for headers of responses that reserved nothing; null without a per-minute cap. */
  level(limits: BudgetLimits): Promise<BucketLevel | null>;
  /** How much of a budget is used (docs/rules/budgets.md#usage-read). */
  usage(whose: "tenant" | "key", limits: BudgetLimits, activeUntilMs: number | null): Promise<BudgetUsage>;
  /**
   * Holds a counter against the ledger, which can only raise it (docs/rules/budgets.md#check-against-the-ledger).
   * False: the ledger did not answer.
   */
  rebuild(whose: "tenant" | "key", limits: BudgetLimits): Promise<boolean>;
}

/**
 * The messages between a Cell and the TenantBudget object of a tenant. Plain data. Every message may be lost, repeated, delayed
 * or overtaken: a lease request is decided once per number, and a Cell's report of a lease is its complete state so far. The
 * Cell numbers its leases and every change of them; these numbers rise within its life, and each is given once. A report has
 * the number of the newest change, and every change that the object may not have stored. So a newer report replaces an older
 * one, and the same report twice changes nothing. The Cell repeats its reports until the object has stored them.
 */
import { ALERT } from "../alerts.ts";
import { AMOUNTS, type Amounts, countsIn, covers, USED } from "../amounts.ts";
import { type BudgetLimits, type BudgetOwner, LIMITS } from "../limits.ts";
import { byRate, RATE_REASONS } from "../rates.ts";
import {
  amount,
  anyOf,
  flag,
  isOf,
  listOf,
  type Of,
  oneOf,
  orAbsent,
  orNull,
  type RecordOf,
  record,
  text,
} from "../shapes.ts";
import { PERIOD_TAGS } from "../term-budget.ts";
import { type BucketLevel, NO_BUCKET, OWNED_BUCKETS, type OwnedBuckets, SENT_BUCKET } from "../token-bucket.ts";
import type { BudgetUsage } from "../usage-view.ts";

/** No lease lives longer. */
export const LEASE_MAX_MS = 20_000;

/** What requests of one key and period used of a lease, in total. */
const USED_LINE = record({
  /** The limits whose counters are charged. */
  limits: LIMITS,
  tags: PERIOD_TAGS,
  used: USED,
});
export type UsedLine = Of<typeof USED_LINE>;

/**
 * A lease that the Cell opened without a lease request. `counted`: unreserved use, of any number of requests. The other kinds
 * are for one request. `adopted`: the request continues in this life of the Cell, and `granted` is what it drew in an earlier
 * one. `drawn`: the request drew `granted` in this life and the Cell lost contact with it; or it drew nothing and is reported
 * singly. `readmitted`: the request was reported before in this life, and what it used is counted from then on.
 */
const OPENED_LEASE = record({
  as: oneOf("counted", "adopted", "drawn", "readmitted"),
  granted: AMOUNTS,
  /** The lease of this life from which the request drew `granted`; null: from none. */
  from: orNull(amount),
});
export type OpenedLease = Of<typeof OPENED_LEASE>;

/** A request that more than one life of a Cell may report; it has a lease of its own. */
const LEASE_REQUEST_END = record({
  id: text,
  /** It may still run, and be reported again. False: it has ended. */
  goesOn: flag,
});
export type LeaseRequestEnd = Of<typeof LEASE_REQUEST_END>;

/** The complete state of one lease, as its Cell reports it. */
export const LEASE_REPORT = record({
  n: amount,
  /** Id of a key with caps of its own; null: the tenant's pool. */
  pool: orNull(text),
  /** Ended reservations and returned amounts, in total. */
  released: AMOUNTS,
  used: listOf(USED_LINE),
  /** Nothing more will be drawn from it; for the lease of one request: the request's end is reported. */
  ended: flag,
  /** Null for a lease that was requested. */
  opened: orNull(OPENED_LEASE),
  /** Null for a lease that does not belong to one request. */
  request: orNull(LEASE_REQUEST_END),
});
export type LeaseReport = Of<typeof LEASE_REPORT>;

const REPORT_FIELDS = {
  cell: text,
  /** The life of the Cell: a counter that it keeps on its disk (docs/rules/budgets.md#lives-of-a-cell). */
  life: amount,
  /** Number of the newest change that it contains. */
  sequence: amount,
  /** Every changed lease whose newest state the object may not have stored, by ascending `n`. */
  leases: listOf(LEASE_REPORT),
  /**
   * Every requested lease that the Cell still knows. A lease with a number below `sequence` that is missing here is void.
   */
  open: listOf(amount),
  /** None: objects of older releases expect it, whose alerts a Cell handed on. */
  alertsSeen: listOf(text),
};
/** The same, with only the numbers of leases: a faulty lease is left out, and the others count. */
export const REPORT_FRAME = record({ ...REPORT_FIELDS, leases: listOf(record({ n: amount })) });
export type BudgetReport = RecordOf<typeof REPORT_FIELDS>;

export const REPORT_ANSWER = record({
  /** The reports of this life of the Cell up to this sequence are stored. */
  stored: amount,
  /** None: Cells of older releases expect it, which handed alerts on. */
  alerts: listOf(ALERT),
});
export type ReportAnswer = Of<typeof REPORT_ANSWER>;

/** What a lease request asks for, except its report, which is checked separately. */
export const LEASE_QUESTION = record({
  /** A retry repeats the number. */
  n: amount,
  pool: orNull(text),
  need: AMOUNTS,
  want: AMOUNTS,
  /** No request waits for it yet. Absent: one does, and draws its need as soon as the lease comes. */
  ahead: orAbsent(flag),
  limits: LIMITS,
});
export type LeaseRequest = Of<typeof LEASE_QUESTION> & { readonly report: BudgetReport };

/** The limit that refuses: a bucket of tenant or key, the key's budget, the tenant's budget. */
export const BINDING_LIMIT = oneOf(...RATE_REASONS, "key", "tenant");
export type BindingLimit = Of<typeof BINDING_LIMIT>;

const VERDICT = anyOf(
  record({
    kind: oneOf("granted"),
    grant: AMOUNTS,
    ttlMs: amount,
    /** No limit is near: what requests did not use of their reservations may be drawn again. */
    ample: flag,
  }),
  record({ kind: oneOf("refused"), reason: BINDING_LIMIT }),
  /** The Cell seems not to wait for it any more, or a newer life of this Cell is known. */
  record({ kind: oneOf("stale") }),
  /**
   * A number of the lease request is invalid, which is a defect of the gateway (docs/rules/budgets.md#amounts): nothing was
   * decided.
   */
  record({ kind: oneOf("invalid"), field: text }),
);
export type LeaseVerdict = Of<typeof VERDICT>;

const LEASE_ANSWER = record({
  report: REPORT_ANSWER,
  verdict: VERDICT,
  /** The tenant's bucket of tokens after the verdict, for Cells of older releases. */
  bucket: SENT_BUCKET,
  /** All buckets that bind the pool, after the verdict; absent: an object of an older release answers. */
  buckets: orAbsent(OWNED_BUCKETS),
});
export type LeaseAnswer = Of<typeof LEASE_ANSWER>;

/** The content of a lease; an object of an older release does not know the need. */
export function grantOf(grant: Amounts, need: Amounts): Amounts {
  return { ...countsIn(need), ...grant };
}

/** The buckets of an answer; an object of an older release knows only the tenant's bucket of tokens. */
export function bucketsOf({ bucket, buckets }: Pick<LeaseAnswer, "bucket" | "buckets">): OwnedBuckets {
  return buckets ?? { tenant: { ...byRate(() => NO_BUCKET), tokens: bucket }, key: null };
}

/** Whether a value can be the answer to a lease request, including whether a grant covers the need. */
export function isLeaseAnswer(value: unknown, { need }: LeaseRequest): value is LeaseAnswer {
  if (!isOf(LEASE_ANSWER, value)) return false;
  const { verdict } = value;
  return verdict.kind !== "granted" || covers(grantOf(verdict.grant, need), need);
}

/** RPC surface of the TenantBudget object, named by tenant id. */
export interface TenantBudgetApi {
  lease(request: LeaseRequest): Promise<LeaseAnswer>;
  /** `isLast`: the process of the Cell may stop, so the report is on disk before the answer leaves. */
  report(report: BudgetReport, isLast?: boolean): Promise<ReportAnswer>;
  /** Notes limits that have changed (docs/rules/budgets.md#alerts). */
  limitsChanged(limits: BudgetLimits): Promise<void>;
  /** The level for headers of responses that reserved nothing; null without a limit per minute. */
  level(limits: BudgetLimits): Promise<BucketLevel | null>;
  /** How much of a budget is used (docs/rules/budgets.md#usage-read). */
  usage(whose: BudgetOwner, limits: BudgetLimits, activeUntilMs: number | null): Promise<BudgetUsage>;
  /** The same of an end user; null: nothing is kept of this one, and a read, which nothing counts, asks no ledger. */
  endUserUsage(limits: BudgetLimits, activeUntilMs: number | null): Promise<BudgetUsage | null>;
  /**
   * Compares a counter with the ledger, which can only raise it (docs/rules/budgets.md#check-against-the-ledger). False:
   * the ledger did not answer.
   */
  rebuild(whose: BudgetOwner, limits: BudgetLimits): Promise<boolean>;
}

/**
 * Whether numbers that enter the budgets are amounts that budgets can count (docs/rules/budgets.md#amounts). Callers clamp
 * their amounts first, so a fault is a defect of the gateway itself: the code that finds one refuses the whole message
 * part, stores none of it and reports which field it was. Faults are named by that field, for human readers.
 */

import { isAmount } from "../../../../shared/amount.ts";
import type { BudgetAlert } from "../alerts.ts";
import { type ActualUsage, type Amounts, COUNT_NAMES, type Counts, covers } from "../amounts.ts";
import type { BudgetLimits, TermLimits } from "../limits.ts";
import { byRate, RATE_NAMES, RATE_REASONS, RATES, type RateLimits } from "../rates.ts";
import {
  type BucketLevel,
  type Buckets,
  bucketsIn,
  levelOf,
  type OwnedBuckets,
  type TokenBucket,
} from "../token-bucket.ts";
import {
  arrayOf,
  type Guard,
  isBoolean,
  isInteger,
  isNumber,
  isObject,
  isString,
  oneOf,
  orAbsent,
  orNull,
  withFields,
} from "./guards.ts";
import {
  type BindingLimit,
  type BudgetReport,
  grantOf,
  type LeaseAnswer,
  type LeaseReport,
  type LeaseRequest,
  type ReportAnswer,
} from "./rpc.ts";

/** Guards of some fields, by name. */
type Guards = Readonly<Record<string, Guard<unknown>>>;

/** The name of the first field whose value is invalid, below `name`; null: all are valid. */
function faultIn(name: string, fields: Guards, value: object): string | null {
  for (const field in fields)
    if (fields[field]?.((value as Readonly<Record<string, unknown>>)[field]) === false) return `${name}.${field}`;
  return null;
}

const isAmountOrAbsent = orAbsent(isAmount);

/** The parts of {@link Counts}. */
export const COUNT_FIELDS = Object.fromEntries(COUNT_NAMES.map((name) => [name, isAmountOrAbsent])) as {
  readonly [Name in keyof Counts]-?: Guard<Counts[Name]>;
};
/** The parts of {@link RateLimits}. */
export const RATE_LIMIT_FIELDS = Object.fromEntries(
  RATE_NAMES.map((rate) => [RATES[rate].limit, isAmountOrAbsent]),
) as {
  readonly [Name in keyof RateLimits]-?: Guard<RateLimits[Name]>;
};
const AMOUNT_FIELDS = { bucketTokens: isAmount, ...COUNT_FIELDS, termTokens: isAmount, nanoUsd: isAmount };
const USED_FIELDS = { tokens: isAmount, nanoUsd: isAmount, ...COUNT_FIELDS };
const TERM_NUMBERS = { tokens: orNull(isAmount), nanoUsd: orNull(isAmount), startedAtMs: orNull(isInteger) };

/** The name of the first limit whose number is invalid; null: all are valid. */
export function faultInLimits({ tenant, key }: BudgetLimits): string | null {
  if (!Number.isSafeInteger(tenant.rev)) return "limits.tenant.rev";
  if (!Number.isSafeInteger(key.rev)) return "limits.key.rev";
  return (
    faultIn("limits.tenant", RATE_LIMIT_FIELDS, tenant) ??
    faultIn("limits.key", RATE_LIMIT_FIELDS, key) ??
    faultIn("limits.tenant.term", TERM_NUMBERS, tenant.term) ??
    faultIn("limits.key.term", TERM_NUMBERS, key.term)
  );
}

/** The name of the first invalid number in what a request needs and its limits; null: all are valid. */
export function faultInNeed(limits: BudgetLimits, need: Amounts): string | null {
  return faultIn("need", AMOUNT_FIELDS, need) ?? faultInLimits(limits);
}

/** The first number of what a request used that is no amount; null: all are. */
export function faultInUsed(used: ActualUsage): string | null {
  return faultIn("used", USED_FIELDS, used);
}

/** What a request is charged when its end contains a number that is no amount: for that number, what was reserved. */
export function usedOrReserved({ tokens, nanoUsd }: ActualUsage, drawn: Amounts): ActualUsage {
  return {
    tokens: isAmount(tokens) ? tokens : drawn.termTokens,
    nanoUsd: isAmount(nanoUsd) ? nanoUsd : drawn.nanoUsd,
  };
}

/** The first invalid number of a lease report; null: all are valid. */
export function faultInLeaseReport({ released, used, opened }: LeaseReport): string | null {
  const faults = used.map((line) => faultInUsed(line.used) ?? faultInLimits(line.limits));
  const inOpened = opened === null ? null : faultIn("opened.granted", AMOUNT_FIELDS, opened.granted);
  return faultIn("released", AMOUNT_FIELDS, released) ?? inOpened ?? faults.find((fault) => fault !== null) ?? null;
}

/**
 * The first number by which a report is ordered that is invalid; null: all are valid. The rest of the report is not
 * checked.
 */
export function faultInReport({ life, sequence, leases, open }: BudgetReport): string | null {
  if (!isAmount(life)) return "report.life";
  if (!isAmount(sequence)) return "report.sequence";
  if (!leases.every(({ n }) => isAmount(n))) return "report.leases";
  return open.every(isAmount) ? null : "report.open";
}

/** The first invalid number of a lease request; null: all are valid. The report that comes with it is not checked. */
export function faultInLeaseRequest({ limits, n, need, want }: LeaseRequest): string | null {
  if (!isAmount(n)) return "n";
  return faultInNeed(limits, need) ?? faultIn("want", AMOUNT_FIELDS, want);
}

/** Whether a value is amounts of every dimension. */
export const isAmounts = withFields<Amounts>(AMOUNT_FIELDS);

/** Whether a value is actual usage in amounts. */
export const isUsed = withFields<ActualUsage>(USED_FIELDS);

/** Whether a value is the limits of a term budget. */
export const isTermLimits = withFields<TermLimits>({
  ...TERM_NUMBERS,
  period: oneOf<TermLimits["period"]>("lifetime", "monthly", "term", null),
});

/** Whether a value is an alert of a budget. */
export const isAlert = withFields<BudgetAlert>({ id: isString, issueKey: isString, title: isString, detail: isString });

export const isAlerts = arrayOf(isAlert);

/** Whether a value is a bucket; its level is not compared with its cap. */
export const isBucket = withFields<TokenBucket>({ capTokens: isAmount, levelTokens: isNumber, atMs: isNumber });

const isGrant = withFields({ grant: isAmounts, ttlMs: isAmount, ample: isBoolean });
/** Whether a value is a limit that refuses. */
export const isBindingLimit = oneOf<BindingLimit>(...RATE_REASONS, "key", "tenant");

function isVerdict(value: unknown, need: Amounts): boolean {
  if (!isObject(value)) return false;
  switch (value["kind"]) {
    case "granted":
      return isGrant(value) && covers(grantOf(value.grant, need), need);
    case "refused":
      return isBindingLimit(value["reason"]);
    case "invalid":
      return isString(value["field"]);
    default:
      return value["kind"] === "stale";
  }
}

/** Whether a value can be the answer to a report. */
export const isReportAnswer = withFields<ReportAnswer>({ stored: isAmount, alerts: isAlerts });

/** Whether a value can be the answer to a lease request: also whether a grant covers what was needed. */
export function isLeaseAnswer(value: unknown, request: LeaseRequest): value is LeaseAnswer {
  if (!isObject(value) || !isReportAnswer(value["report"])) return false;
  const { bucket, buckets, verdict } = value;
  const areBuckets = buckets === undefined || (isOwnedBuckets(buckets) && bucketsIn(buckets).every(areInBounds));
  return isBucket(bucket) && isInBounds(bucket) && areBuckets && isVerdict(verdict, request.need);
}

const isBuckets = withFields<Buckets>(byRate(() => isBucket));
const isOwnedBuckets = withFields<OwnedBuckets>({ tenant: isBuckets, key: orNull(isBuckets) });

function isInBounds({ levelTokens, capTokens }: TokenBucket): boolean {
  return Math.abs(levelTokens) <= capTokens;
}

function areInBounds(buckets: Buckets): boolean {
  return RATE_NAMES.every((rate) => isInBounds(buckets[rate]));
}

const isRateLevel = withFields({ limitTokens: isAmount, remainingTokens: isAmount, resetMs: isNumber });

/** Whether a value is a level for headers, or null. */
export function isLevel(value: unknown): value is BucketLevel | null {
  if (value === null) return true;
  if (!isRateLevel(value)) return false;
  const others: unknown[] = RATE_NAMES.map((rate) => levelOf(value as BucketLevel, rate)).filter((of) => of !== null);
  return others.every((of) => isRateLevel(of) && of.resetMs >= 0);
}

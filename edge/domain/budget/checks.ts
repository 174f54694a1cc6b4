/**
 * Whether numbers that enter the budgets are what budgets can count (decisions §43.1). Callers state amounts that are clamped
 * already, so a fault is a defect of the gateway's own: whoever finds one refuses what it is part of, stores none of it and
 * says which field it was. Faults are named by that field, for people.
 */

import { isAmount } from "../../../shared/amount.ts";
import type { BudgetAlert } from "./alerts.ts";
import { type Actual, type Amounts, covers } from "./amounts.ts";
import type { LeaseAnswer, LeaseReport, LeaseRequest, Report, ReportAnswer } from "./api.ts";
import type { BudgetLimits, TermLimits } from "./limits.ts";
import type { BucketLevel } from "./token-bucket.ts";

function faultInAmounts(name: string, amounts: Amounts): string | null {
  if (!isAmount(amounts.bucketTokens)) return `${name}.bucketTokens`;
  if (!isAmount(amounts.termTokens)) return `${name}.termTokens`;
  return isAmount(amounts.nanoUsd) ? null : `${name}.nanoUsd`;
}

function faultInTerm(name: string, term: TermLimits): string | null {
  if (term.tokens !== null && !isAmount(term.tokens)) return `${name}.tokens`;
  if (term.nanoUsd !== null && !isAmount(term.nanoUsd)) return `${name}.nanoUsd`;
  return term.startedAtMs === null || Number.isSafeInteger(term.startedAtMs) ? null : `${name}.startedAtMs`;
}

/** The first number of limits that is none to decide by; null: all are. */
export function faultInLimits({ tenant, key }: BudgetLimits): string | null {
  if (!Number.isSafeInteger(tenant.rev)) return "limits.tenant.rev";
  if (!Number.isSafeInteger(key.rev)) return "limits.key.rev";
  if (!isAmount(tenant.tokensPerMinute)) return "limits.tenant.tokensPerMinute";
  return faultInTerm("limits.tenant.term", tenant.term) ?? faultInTerm("limits.key.term", key.term);
}

/** The first number that is none to decide by, in what a request needs and its limits; null: all are. */
export function faultInNeed(limits: BudgetLimits, need: Amounts): string | null {
  return faultInAmounts("need", need) ?? faultInLimits(limits);
}

/** The first number of what a request used that is no amount; null: both are. */
export function faultInUsed(used: Actual): string | null {
  if (!isAmount(used.tokens)) return "used.tokens";
  return isAmount(used.nanoUsd) ? null : "used.nanoUsd";
}

/** What a request is charged whose end names a number that is no amount: as it was reserved, where that is so. */
export function usedOrReserved({ tokens, nanoUsd }: Actual, drawn: Amounts): Actual {
  return {
    tokens: isAmount(tokens) ? tokens : drawn.termTokens,
    nanoUsd: isAmount(nanoUsd) ? nanoUsd : drawn.nanoUsd,
  };
}

/** The first number of a word on a lease that cannot be counted; null: all can. */
export function faultInWord({ released, used, opened }: LeaseReport): string | null {
  const faults = used.map((line) => faultInUsed(line.used) ?? faultInLimits(line.limits));
  const inAmounts = released === "all" ? null : faultInAmounts("released", released);
  const inOpened = opened === null ? null : faultInAmounts("opened.granted", opened.granted);
  return inAmounts ?? inOpened ?? faults.find((fault) => fault !== null) ?? null;
}

/** The first number that a report is ordered by and that orders nothing; null: all do. What else it says is not looked at. */
export function faultInReport({ life, sequence, leases, open }: Report): string | null {
  if (!isAmount(life)) return "report.life";
  if (!isAmount(sequence)) return "report.sequence";
  if (!leases.every(({ n, version }) => isAmount(n) && isAmount(version))) return "report.leases";
  return open.every(isAmount) ? null : "report.open";
}

/** The first number of an ask that cannot be decided by; null: all can. The report that rides along is not looked at. */
export function faultInAsk({ limits, n, need, want }: LeaseRequest): string | null {
  if (!isAmount(n)) return "n";
  return faultInNeed(limits, need) ?? faultInAmounts("want", want);
}

const PERIODS: ReadonlySet<unknown> = new Set(["lifetime", "monthly", "term"]);

type Unknown = Readonly<Record<string, unknown>>;

/** Whether a value has fields to look at. */
export function isObject(value: unknown): value is Unknown {
  return typeof value === "object" && value !== null;
}

/** Whether a value is amounts of every dimension. */
export function isAmounts(value: unknown): value is Amounts {
  return isObject(value) && faultInAmounts("", value as unknown as Amounts) === null;
}

/** Whether a value is the limits of a term budget. */
export function isTermLimits(value: unknown): value is TermLimits {
  if (!isObject(value) || faultInTerm("", value as unknown as TermLimits) !== null) return false;
  return value["period"] === null || PERIODS.has(value["period"]);
}

/** Whether a value is an alert of a budget. */
export function isAlert(value: unknown): value is BudgetAlert {
  return isObject(value) && ["id", "issueKey", "title", "detail"].every((name) => typeof value[name] === "string");
}

function isBucket(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { capTokens, levelTokens, atMs } = value;
  if (!isAmount(capTokens) || !Number.isFinite(atMs) || !Number.isFinite(levelTokens)) return false;
  return Math.abs(levelTokens as number) <= capTokens;
}

function isVerdict(value: unknown, need: Amounts): boolean {
  if (!isObject(value)) return false;
  switch (value["kind"]) {
    case "granted":
      return (
        isAmounts(value["grant"]) &&
        covers(value["grant"], need) &&
        isAmount(value["ttlMs"]) &&
        typeof value["ample"] === "boolean"
      );
    case "refused":
      return value["reason"] === "rate" || value["reason"] === "key" || value["reason"] === "tenant";
    case "invalid":
      return typeof value["field"] === "string";
    default:
      return value["kind"] === "stale";
  }
}

/** Whether a value can be the answer to a report. */
export function isReportAnswer(value: unknown): value is ReportAnswer {
  if (!isObject(value)) return false;
  const { incarnation, applied, stored, alerts } = value;
  if (typeof incarnation !== "string" || !isAmount(applied) || !isAmount(stored) || stored > applied) return false;
  return Array.isArray(alerts) && alerts.every(isAlert);
}

/** Whether a value can be the answer to an ask: also that a grant covers what was needed. */
export function isLeaseAnswer(value: unknown, request: LeaseRequest): value is LeaseAnswer {
  if (!isObject(value) || !isReportAnswer(value["report"])) return false;
  return isBucket(value["bucket"]) && isVerdict(value["verdict"], request.need);
}

/** Whether a value is a level for headers, or none. */
export function isLevel(value: unknown): value is BucketLevel | null {
  if (value === null) return true;
  if (!isObject(value)) return false;
  const { limitTokens, remainingTokens, resetMs } = value;
  return isAmount(limitTokens) && isAmount(remainingTokens) && Number.isFinite(resetMs) && (resetMs as number) >= 0;
}

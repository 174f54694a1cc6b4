/** A Cell's budgets for tests that give them numbers, answers and clocks of every kind. */
import type { Issue } from "../../../shared/alerts.ts";
import { isAmount } from "../../../shared/amount.ts";
import { zeroUsageRow } from "../../../shared/usage-row.ts";
import type { Ask } from "../../domain/ask.ts";
import type { Amounts } from "../../domain/budget/amounts.ts";
import type { LeaseRequest, Report } from "../../domain/budget/api.ts";
import { lifeAfter } from "../../domain/budget/cell-life.ts";
import { isLevel } from "../../domain/budget/checks.ts";
import type { BudgetLimits } from "../../domain/budget/limits.ts";
import { monthOf } from "../../domain/budget/testing/world.ts";
import { type BudgetCalls, BudgetDesk } from "../budget-desk.ts";
import type { BudgetVerdict } from "../seat.ts";

export function askOf(requestId: string, limits: BudgetLimits, need: Amounts): Ask {
  return {
    requestId,
    tenant: { id: "tenant-1", name: "Acme", weight: 100, maxInFlight: null },
    group: { name: "g", weight: 1 },
    model: { name: "m", admissionWeight: 100, maxInFlight: null },
    costTokens: 1,
    revs: [],
    openUntilMs: null,
    waitedMs: null,
    row: zeroUsageRow(requestId, 0),
    limits,
    need,
    estimate: { inputTokens: 4, outputTokens: 6, costUsd: 0 },
  };
}

export const needOf = (tokens: number): Amounts => ({ bucketTokens: tokens, termTokens: tokens, nanoUsd: tokens });

export interface Around {
  readonly budgetOf: (tenantId: string) => BudgetCalls;
  readonly now?: () => number;
  readonly nextLife?: () => number;
}

export function deskOf({ budgetOf, now = Date.now, nextLife = () => Number(lifeAfter(null)) }: Around) {
  const verdicts = new Map<string, BudgetVerdict>();
  const alerts: Issue[] = [];
  const desk = new BudgetDesk({
    cell: "c",
    failOpen: true,
    now,
    nextLife,
    monthOf,
    budgetOf,
    judged: (requestId, verdict) => verdicts.set(requestId, verdict),
    tell: async (alert) => void alerts.push(alert),
    raise: (issue) => alerts.push(issue),
  });
  return { desk, verdicts, alerts };
}

/** Every number in a message or an answer is one that arithmetic can go on with. */
export function allFinite(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(allFinite);
}

/** Whether every amount in a message is one. */
export function saysAmounts(message: LeaseRequest | Report): boolean {
  const asked = "report" in message ? [...Object.values(message.need), ...Object.values(message.want)] : [];
  const { leases } = "report" in message ? message.report : message;
  const told = leases.flatMap(({ released, opened, used }) => [
    ...Object.values(released),
    ...Object.values(opened?.granted ?? {}),
    ...used.flatMap((line) => [line.used.tokens, line.used.nanoUsd]),
  ]);
  return allFinite(message) && [...asked, ...told].every(isAmount);
}

/** Whether what a verdict tells the client are numbers to make headers of (decisions §17.5). */
export function tellsNumbers(verdict: BudgetVerdict): boolean {
  if (verdict.kind === "ok") return isLevel(verdict.level);
  const { level, retryAfterMs } = verdict.refusal;
  return isLevel(level) && (retryAfterMs === null || (isAmount(retryAfterMs) && retryAfterMs > 0));
}

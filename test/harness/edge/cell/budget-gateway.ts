/** A Cell's budgets for tests that set numbers, answers and clocks of every kind. */

import type { BudgetDecision, BudgetVerdict } from "../../../../edge/domain/admission/budget-port.ts";
import type { AdmissionRequest } from "../../../../edge/domain/admission/rpc.ts";
import type { Amounts } from "../../../../edge/domain/budget/amounts.ts";
import { lifeAfter } from "../../../../edge/domain/budget/cell-life.ts";
import type { BudgetLimits } from "../../../../edge/domain/budget/limits.ts";
import type { BudgetReport, LeaseRequest } from "../../../../edge/domain/budget/messages/rpc.ts";
import { isLevel } from "../../../../edge/domain/budget/token-bucket.ts";
import { BudgetGateway, type BudgetGatewayOptions } from "../../../../edge/objects/cell/budget-gateway.ts";
import type { BudgetObjectApi } from "../../../../edge/objects/object-ports.ts";
import type { Issue } from "../../../../shared/alerts.ts";
import { isAmount } from "../../../../shared/money/amount.ts";
import { thirtyDayMonthOf } from "../budget/simulation.ts";
import { admissionRequestOf } from "./admission-requests.ts";

export function budgetRequestOf(requestId: string, limits: BudgetLimits, need: Amounts): AdmissionRequest {
  const estimate = { inputTokens: 4, outputTokens: 6, costUsd: 0 };
  return admissionRequestOf(requestId, "tenant-1", { costTokens: 1, revs: [], limits, need, estimate });
}

export const needOf = (tokens: number): Amounts => ({ bucketTokens: tokens, termTokens: tokens, nanoUsd: tokens });

/** A gateway that keeps each of its verdicts, immediate or late, in `verdicts`. */
export class RecordedGateway extends BudgetGateway {
  readonly verdicts = new Map<string, BudgetVerdict>();

  constructor(options: Omit<BudgetGatewayOptions, "late">) {
    let record = (_decisions: readonly BudgetDecision[]): void => undefined;
    super({ ...options, late: { put: (decisions) => record(decisions) } });
    record = (decisions) => void this.#record(decisions);
  }

  override expect(request: AdmissionRequest): readonly BudgetDecision[] {
    return this.#record(super.expect(request));
  }

  override reserve(request: AdmissionRequest): readonly BudgetDecision[] {
    return this.#record(super.reserve(request));
  }

  override withdraw(request: AdmissionRequest): readonly BudgetDecision[] {
    return this.#record(super.withdraw(request));
  }

  #record(decisions: readonly BudgetDecision[]): readonly BudgetDecision[] {
    for (const { requestId, verdict } of decisions) this.verdicts.set(requestId, verdict);
    return decisions;
  }
}

interface BudgetGatewaySetup {
  readonly budgetOf: (tenantId: string) => BudgetObjectApi;
  readonly now?: () => number;
  readonly nextLife?: () => number;
  readonly failOpen?: boolean;
  readonly cell?: string;
}

export function budgetGatewayOf({
  budgetOf,
  now = Date.now,
  nextLife = () => Number(lifeAfter(null)),
  failOpen = true,
  cell = "c",
}: BudgetGatewaySetup) {
  const alerts: Issue[] = [];
  const gateway = new RecordedGateway({
    cell,
    failOpen,
    now,
    nextLife,
    monthOf: thirtyDayMonthOf,
    budgetOf,
    raise: (issue) => alerts.push(issue),
  });
  return { gateway, verdicts: gateway.verdicts, alerts };
}

/** Whether every number in a message or an answer is finite. */
export function allFinite(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(allFinite);
}

export function hasAmounts(message: LeaseRequest | BudgetReport): boolean {
  const asked = "report" in message ? [...Object.values(message.need), ...Object.values(message.want)] : [];
  const { leases } = "report" in message ? message.report : message;
  const reported = leases.flatMap(({ released, opened, used }) => [
    ...Object.values(released),
    ...Object.values(opened?.granted ?? {}),
    ...used.flatMap((line) => [line.used.tokens, line.used.nanoUsd]),
  ]);
  return allFinite(message) && [...asked, ...reported].every(isAmount);
}

/**
 * Whether what a verdict reports to the client are numbers that headers can hold
 * (docs/rules/headers.md#budget-headers).
 */
export function hasNumbers(verdict: BudgetVerdict): boolean {
  if (verdict.kind === "ok") return isLevel(verdict.level);
  const { level, retryAfterMs } = verdict.refusal;
  return isLevel(level) && (retryAfterMs === null || (isAmount(retryAfterMs) && retryAfterMs > 0));
}

/**
 * What a finished request is billed: tokens and cost of its row, and what the scheduler is corrected to (decisions §23.1,
 * §23.3, §23.4). Only a 2xx of the upstream, or a client that left while one was under way, costs anything.
 */
import { costUsd, type Measure } from "../../shared/cost.ts";
import type { ModelRecord } from "../../shared/records.ts";
import { saturated } from "./budget/amounts.ts";
import type { TokenEstimate } from "./token-estimate.ts";
import type { ReportedUsage } from "./usage-scan.ts";

export interface Billed {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

export const NOTHING_BILLED: Billed = { inputTokens: 0, outputTokens: 0, costUsd: 0 };

/** Reported tokens when there are any, else the estimate's two parts, at the model's prices of now. */
export function bill(
  model: Pick<ModelRecord, "prices">,
  estimate: TokenEstimate,
  measure: Measure,
  reported: ReportedUsage | null,
): Billed {
  const inputTokens = reported === null ? estimate.inputTokens : (reported.inputTokens ?? estimate.inputTokens);
  const outputTokens = reported === null ? estimate.outputTokens : (reported.outputTokens ?? 0);
  return { inputTokens, outputTokens, costUsd: costUsd(model.prices, measure, { inputTokens, outputTokens }) };
}

/** The tokens of both parts, at most the largest amount (decisions §43.1): an upstream may report any number. */
export function totalTokens({ inputTokens, outputTokens }: Pick<Billed, "inputTokens" | "outputTokens">): number {
  return saturated(inputTokens + outputTokens);
}

/** What the client gets for an upstream status: 2xx and 4xx as they are, the rest 502 (decisions §22.6). */
export function clientStatus(upstreamStatus: number): number {
  if (upstreamStatus >= 200 && upstreamStatus < 300) return upstreamStatus;
  return upstreamStatus >= 400 && upstreamStatus < 500 ? upstreamStatus : 502;
}

/**
 * `GET /v1/limits`: the limits of the caller's requests, and the remaining amounts
 * (docs/rules/budgets.md#limits-of-the-caller). It needs no slot and writes no row.
 */

import { GatewayError } from "../../shared/errors.ts";
import { RATE_FIELD_NAMES, type RateField } from "../../shared/fields/rates.ts";
import type { ResolvedBudget, ResolvedKey, ResolvedTenant } from "../../shared/records.ts";
import type { BudgetRead, BudgetSubject } from "../../shared/wire/internal-budgets.ts";
import { RATE_NAMES, type Rate } from "../domain/budget/rates.ts";
import { type BucketLevel, levelOf } from "../domain/budget/token-bucket.ts";
import { endUserOf } from "../domain/request/attribution.ts";
import { wholeDocument } from "../domain/wire/json/document.ts";
import { authenticateNow } from "./authenticate/authenticate-now.ts";
import type { Call } from "./call/context.ts";
import type { Authenticated, CallAnswer } from "./call/known.ts";
import { withKnown } from "./call/known.ts";
import { logEnd } from "./call/report/report-end.ts";
import { usageRowOf } from "./call/report/usage-row.ts";
import { answer } from "./receive/answer-call.ts";
import type { PipelineInput } from "./receive/start-call.ts";
import { readLevel } from "./reply/rate-limit.ts";
import { gatewayHeaders } from "./reply/response-headers.ts";

/** Reads budgets; throws when their object cannot be reached. */
interface BudgetReads {
  usage(subject: BudgetSubject): Promise<BudgetRead>;
  endUserUsage(endUser: string, tenant: ResolvedTenant): Promise<BudgetRead | null>;
}

/** Answers with the limits of the caller. */
export async function describeLimits(received: PipelineInput, reads: BudgetReads): Promise<Response> {
  const { response } = await answer(
    received,
    async (call, known) => await limitsAnswer(call, await authenticateNow(call, known), reads),
  );
  return response;
}

async function limitsAnswer(call: Call, caller: Authenticated, reads: BudgetReads): Promise<CallAnswer> {
  const { key, tenant } = caller.principal;
  const endUser = endUserOf(wholeDocument(Object.fromEntries(new URLSearchParams(call.search))));
  const [level, ofTenant, ofKey, ofEndUser] = await withKnown(
    caller,
    Promise.all([
      readLevel(call, caller),
      budgetOf(tenant.budget, async () => await reads.usage({ tenant, key: null })),
      budgetOf(key.budget, async () => await reads.usage({ tenant, key })),
      budgetOf(tenant.end_user_budget, async () => await reads.endUserUsage(endUser, tenant)),
    ]),
  );
  const known = { ...caller, level };
  const body = {
    object: "limits",
    tenant: { ...ratesOf(tenant), budget: ofTenant },
    key: { ...ratesOf(key), budget: ofKey },
    end_user: { user: endUser === "" ? null : endUser, budget: ofEndUser ?? capsOf(tenant.end_user_budget) },
    per_minute: Object.fromEntries(RATE_NAMES.map((rate) => [rate, shownLevel(level, rate)])),
  };
  logEnd(call, known, usageRowOf(call, known, { statusCode: 200, admission: "fast" }));
  return { response: Response.json(body, { headers: gatewayHeaders(call, known) }), known };
}

/** The limits per minute of a tenant or key, by their names; 0: none. */
function ratesOf(owner: Pick<ResolvedKey, RateField>): Readonly<Record<string, number>> {
  return Object.fromEntries(RATE_FIELD_NAMES.map((name) => [name, owner[name]]));
}

/** The bucket with less left of tenant and key; null: neither has a limit, or the level is not known. */
function shownLevel(levels: BucketLevel | null | undefined, rate: Rate) {
  const level = levels ? levelOf(levels, rate) : null;
  return level && { limit: level.limitTokens, remaining: level.remainingTokens, reset_ms: level.resetMs };
}

/** A budget without its use; null if there is none. */
function capsOf({ period, tokens, cost_usd }: ResolvedBudget) {
  return tokens === null && cost_usd === null
    ? null
    : { budget_period: period, budget_tokens: tokens, budget_cost_usd: cost_usd };
}

/** A budget and its use; null if there is none. Throws 503 `budget_check_failed`. */
async function budgetOf(budget: ResolvedBudget, read: () => Promise<BudgetRead | null>): Promise<BudgetRead | null> {
  if (capsOf(budget) === null) return null;
  try {
    return await read();
  } catch (cause) {
    throw new GatewayError("budget_check_failed", { cause });
  }
}

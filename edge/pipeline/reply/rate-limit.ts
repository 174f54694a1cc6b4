/**
 * The report of an answer about the limits per minute that bind it (docs/rules/headers.md#budget-headers): the level after its
 * own reservation, or the current level when nothing was reserved. A level that cannot be read is left out; an answer waits for
 * at most one read.
 */
import { issues } from "../../../shared/alerts.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { AdmissionRequest, Refusal } from "../../domain/admission/rpc.ts";
import { NO_AMOUNTS } from "../../domain/budget/amounts.ts";
import { exceededQuota, limitsOf, OWNERS, ratedLimitsOf, unavailableCode } from "../../domain/budget/limits.ts";
import { perMinute, RATE_NAMES, RATES } from "../../domain/budget/rates.ts";
import { type BucketLevel, levelOf, msUntilOne } from "../../domain/budget/token-bucket.ts";
import type { Call } from "../call/context.ts";
import { type Authenticated, type Known, StageFailure } from "../call/known.ts";

/** The level for a response: the known level, or one read for an authenticated caller that reserved nothing. Never throws. */
export async function readLevel(call: Call, { level, principal }: Known): Promise<BucketLevel | null | undefined> {
  if (level !== undefined || principal === null) return level;
  const limits = ratedLimitsOf(principal.key, principal.tenant);
  return limits === null ? level : await call.ports.admission.view.level(limits);
}

/** `x-ratelimit-*`; none without a known level. */
export function rateLimitHeaders(level: BucketLevel | null | undefined): Record<string, string> {
  if (level === null || level === undefined) return {};
  const headers: Record<string, string> = {};
  for (const rate of RATE_NAMES) {
    const known = levelOf(level, rate);
    if (known === null) continue;
    headers[`x-ratelimit-limit-${rate}`] = String(known.limitTokens);
    headers[`x-ratelimit-remaining-${rate}`] = String(known.remainingTokens);
    headers[`x-ratelimit-reset-${rate}`] = `${Number((known.resetMs / 1000).toFixed(3))}s`;
  }
  return headers;
}

/**
 * Whether a request without a slot, whose level was read, counts as one of the requests per minute: it does if these are
 * limited. Throws the failure of 429 if none is left, and of 503 if that is unknown and failing open is off.
 */
export function isRequestCounted({ config, ports }: Call, caller: Authenticated): boolean {
  const { level = null, principal } = caller;
  const limits = limitsOf(principal.key, principal.tenant);
  if (OWNERS.every((owner) => perMinute(limits[owner], "requests") === 0)) return false;
  const left = level === null ? null : levelOf(level, "requests");
  if (left === null) {
    const code = unavailableCode(limits);
    const owner = code === "key_budget_check_failed" ? "key" : "tenant";
    ports.alerts.raise(issues.budgetCheckFailed(owner, config.failOpen, "the requests left cannot be read"));
    if (config.failOpen) return true;
    throw new StageFailure(new GatewayError(code), caller);
  }
  if (left.remainingTokens > 0) return true;
  const refusal = { code: RATES.requests.code, retryAfterMs: msUntilOne(left), level } as const;
  throw new StageFailure(refusalError(refusal, { limits, need: NO_AMOUNTS }), caller);
}

/**
 * The error of a request that its limits refuse, or for which the queue is full, with `retry-after` and `retry-after-ms`, or
 * that trying again cannot help (docs/rules/errors.md#retry-hints).
 */
export function refusalError(
  { code, retryAfterMs }: Refusal,
  { limits, need }: Pick<AdmissionRequest, "limits" | "need">,
): GatewayError {
  const quota = code === "token_budget_exceeded" ? exceededQuota(limits, need) : null;
  if (quota !== null) {
    const value = `${need.bucketTokens} tokens, and tokens_per_minute of the ${quota.owner} is ${quota.tokensPerMinute}`;
    return new GatewayError("request_larger_than_quota", { value });
  }
  if (code === "tenant_budget_exhausted" || code === "key_budget_exhausted" || code === "end_user_budget_exhausted")
    return new GatewayError(code, { headers: { "x-should-retry": "false" } });
  if (retryAfterMs === null) return new GatewayError(code);
  const seconds = String(Math.ceil(retryAfterMs / 1000));
  return new GatewayError(code, { headers: { "retry-after": seconds, "retry-after-ms": String(retryAfterMs) } });
}

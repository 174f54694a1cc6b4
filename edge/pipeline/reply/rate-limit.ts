/**
 * What an answer reports about the limits per minute that bind it (docs/rules/headers.md#budget-headers): the level after
 * its own reservation, or the current level when nothing was reserved. A level that cannot be read is left out; an
 * answer waits for at most one read.
 */
import type { AdmissionRequest, Refusal } from "../../domain/admission/rpc.ts";
import { fitsNever, ratedLimitsOf } from "../../domain/budget/limits.ts";
import { RATE_NAMES } from "../../domain/budget/rates.ts";
import { type BucketLevel, levelOf } from "../../domain/budget/token-bucket.ts";
import type { Call } from "../call/context.ts";
import type { Known } from "../call/known.ts";

/**
 * The level for a response: as it is known, or read for an authenticated caller that reserved nothing. Never throws.
 */
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
 * `retry-after` and `retry-after-ms` of a 429, and whether trying again can help at all
 * (docs/rules/errors.md#retry-hints).
 */
export function refusalHeaders(
  refusal: Refusal,
  { limits, need }: Pick<AdmissionRequest, "limits" | "need">,
): Record<string, string> {
  const { code, retryAfterMs } = refusal;
  if (code === "tenant_budget_exhausted" || code === "key_budget_exhausted") return { "x-should-retry": "false" };
  if (retryAfterMs === null) return {};
  return {
    "retry-after": String(Math.ceil(retryAfterMs / 1000)),
    "retry-after-ms": String(retryAfterMs),
    ...(code !== "queue_full" && fitsNever(limits, need) ? { "x-should-retry": "false" } : {}),
  };
}

/**
 * What an answer reports about its tenant's per-minute budget (docs/rules/headers.md#budget-headers): the level after
 * its own reservation, or the current level when nothing was reserved. A level that cannot be read is left out; an
 * answer waits for at most one read.
 */
import type { Refusal } from "../../domain/admission/rpc.ts";
import { limitsOf } from "../../domain/budget/limits.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import type { Call } from "../call/context.ts";
import type { Known } from "../call/known.ts";

/**
 * The level for a response: as it is known, or read for an authenticated caller that reserved nothing. Never throws.
 */
export async function readLevel(call: Call, { level, principal }: Known): Promise<BucketLevel | null | undefined> {
  if (level !== undefined || principal === null || principal.tenant.tokens_per_minute === 0) return level;
  return await call.ports.admission.level(limitsOf(principal.key, principal.tenant));
}

/** `x-ratelimit-*`; none without a known level. */
export function rateLimitHeaders(level: BucketLevel | null | undefined): Record<string, string> {
  if (level === null || level === undefined) return {};
  return {
    "x-ratelimit-limit-tokens": String(level.limitTokens),
    "x-ratelimit-remaining-tokens": String(level.remainingTokens),
    "x-ratelimit-reset-tokens": `${Number((level.resetMs / 1000).toFixed(3))}s`,
  };
}

/**
 * `retry-after` and `retry-after-ms` of a 429, and whether trying again can help at all
 * (docs/rules/errors.md#retry-hints).
 */
export function refusalHeaders(
  refusal: Refusal,
  estimateTokens: number,
  tokensPerMinute: number,
): Record<string, string> {
  const { code, retryAfterMs } = refusal;
  if (code === "tenant_budget_exhausted" || code === "key_budget_exhausted") return { "x-should-retry": "false" };
  if (retryAfterMs === null) return {};
  return {
    "retry-after": String(Math.ceil(retryAfterMs / 1000)),
    "retry-after-ms": String(retryAfterMs),
    ...(code === "token_budget_exceeded" && estimateTokens > tokensPerMinute ? { "x-should-retry": "false" } : {}),
  };
}

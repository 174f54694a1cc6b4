/**
 * What a client is told about its tenant's per-minute budget (decisions §17.5): the level after its own reserve, or as
 * read where nothing was reserved. What cannot be read is left out; no answer waits for more than one look.
 */
import type { Refusal } from "../../domain/admission/rpc.ts";
import { limitsOf } from "../../domain/budget/limits.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import type { Call } from "../call/context.ts";

/** Reads the level for a response of an authenticated caller that reserved nothing. Never throws. */
export async function readLevel(call: Call): Promise<void> {
  const { facts } = call;
  if (facts.level !== undefined || facts.principal === null || facts.principal.tenant.tokens_per_minute === 0) return;
  const { key, tenant } = facts.principal;
  facts.level = await call.ports.admission.level(limitsOf(key, tenant));
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

/** `retry-after` and `retry-after-ms` of a 429, and whether trying again can help at all (decisions §1.3). */
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

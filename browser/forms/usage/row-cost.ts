/** What one request has cost, or a sum of them, from usage rows (docs/rules/console-figures.md#requests). Pure. */
import type { UsageLog } from "../../../shared/schema/usage.ts";

/** What is read of a row; a field that it lacks is not known. */
export type Charged = Partial<Pick<UsageLog, "cost_usd" | "total_tokens" | "status_code" | "cache_status">>;

/**
 * USD; null: a model has worked for it and no price was set. Refusals and answers from the cache cost nothing. Undefined: not
 * known.
 */
export function rowCostUsd({
  cost_usd,
  total_tokens = 0,
  status_code = 0,
  cache_status,
}: Charged): number | null | undefined {
  if (cost_usd !== 0 || cache_status === "hit") return cost_usd;
  return total_tokens > 0 || (status_code >= 200 && status_code < 300) ? null : 0;
}

/**
 * The cost of a sum that was read without its other fields, USD; null: it is 0 beside tokens, which had no price or came from the cache.
 * Undefined: not known.
 */
export function sumCostUsd(
  sum: { readonly cost_usd: number; readonly total_tokens: number } | undefined,
): number | null | undefined {
  return sum?.cost_usd === 0 && sum.total_tokens > 0 ? null : sum?.cost_usd;
}

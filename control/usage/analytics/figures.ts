/**
 * The figures of usage as SQL, from single requests and from sums of them, by the same names (docs/rules/usage-reads.md#figures).
 * Rows are those of {@link usageSource}.
 */
import { COUNTED_OUTCOMES, DECODED, OK, OUTCOME_COLUMNS, oneDecimal, TOKENS_PER_SEC, usd } from "./expressions.ts";
import { MERGED_TOKENS_PER_SEC, mergedPercentile } from "./quarter-rollup.ts";

/** Each is an expression without a name, or a list of named ones. */
export interface Figures {
  readonly requests: string;
  readonly errors: string;
  /** How the requests ended: shows whether a cost of 0 means that nothing was owed, or that no price was known. */
  readonly outcomes: string;
  /** How requests ended that were not served, as columns. */
  readonly notServed: string;
  readonly cacheHits: string;
  readonly cacheMisses: string;
  /** Tokens of answers that came from the cache. */
  readonly hitTokens: string;
  /** Median of output tokens per second of decoding. */
  readonly genTokensPerSec: string;
  /** Median of input tokens per second until the first token; of sums their ratio. */
  readonly promptTokensPerSec: string;
  /** Over successful requests. */
  readonly averageTime: (time: "ttft" | "total") => string;
  readonly medianTime: (time: "ttft" | "total") => string;
  /** Over successful requests; of sums, tokens of all requests for each successful one. */
  readonly averageTokens: (side: "input" | "output") => string;
  /** The start of the bucket of `{bucket:Int64}` ms in which a row begins, epoch ms. */
  readonly bucket: string;
}

const TOKENS_AND_USD = `sum(u.input_tokens) AS input_tokens, sum(u.output_tokens) AS output_tokens,
  sum(u.total_tokens) AS total_tokens, ${usd("sum(u.cost_usd)")} AS cost_usd`;

/** Requests, tokens and USD. */
export const totalsOf = (figures: Figures): string => `${figures.requests} AS requests, ${TOKENS_AND_USD}`;

const bucketOf = (ms: string): string => `intDiv(${ms}, {bucket:Int64}) * {bucket:Int64}`;

export const OF_REQUESTS: Figures = {
  requests: "count()",
  errors: "countIf(u.status_code >= 400)",
  outcomes: `countIf(${OK}) AS success_requests, countIf(u.status_code >= 400) AS error_requests,
    countIf(u.cache_status = 'hit') AS cache_hits`,
  notServed: COUNTED_OUTCOMES,
  cacheHits: "countIf(u.cache_status = 'hit')",
  cacheMisses: "countIf(u.cache_status = 'miss')",
  hitTokens: "sumIf(u.total_tokens, u.cache_status = 'hit')",
  genTokensPerSec: oneDecimal(`quantileExactIf(0.5)(${TOKENS_PER_SEC}, ${DECODED})`),
  promptTokensPerSec: oneDecimal(`quantileExactIf(0.5)(u.input_tokens / (u.ttft_ms / 1000), ${OK} AND u.ttft_ms > 0)`),
  averageTime: (time) => oneDecimal(`avgIf(u.${time}_ms, ${OK})`),
  medianTime: (time) => oneDecimal(`quantileExactIf(0.5)(u.${time}_ms, ${OK})`),
  averageTokens: (side) => oneDecimal(`avgIf(u.${side}_tokens, ${OK})`),
  bucket: bucketOf("toUnixTimestamp64Milli(u.at)"),
};

/** How requests ended that were not served, of sums. */
export const SUMMED_OUTCOMES = OUTCOME_COLUMNS.map((name) => `sum(u.${name}) AS ${name}`).join(", ");

const perSuccess = (sum: string): string => oneDecimal(`${sum} / sum(u.success_requests)`);

export const OF_SUMS: Figures = {
  requests: "sum(u.requests)",
  errors: "sum(u.error_requests)",
  outcomes: ["success_requests", "error_requests", "cache_hits"].map((name) => `sum(u.${name}) AS ${name}`).join(", "),
  notServed: SUMMED_OUTCOMES,
  cacheHits: "sum(u.cache_hits)",
  cacheMisses: "sum(u.cache_misses)",
  hitTokens: "sum(u.hit_tokens)",
  genTokensPerSec: MERGED_TOKENS_PER_SEC,
  promptTokensPerSec: oneDecimal("sum(u.input_tokens) / (sum(u.sum_ttft_ms) / 1000)"),
  averageTime: (time) => perSuccess(`sum(u.sum_${time}_ms)`),
  medianTime: (time) => oneDecimal(mergedPercentile(time, 0)),
  averageTokens: (side) => perSuccess(`sum(u.${side}_tokens)`),
  bucket: bucketOf("toInt64(toUnixTimestamp(u.at)) * 1000"),
};

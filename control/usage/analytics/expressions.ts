/**
 * SQL expressions that make figures from rows of `usage_raw AS u` (docs/rules/usage-reads.md#money). Money is the sum
 * of frozen costs. Averages and percentiles are over successful rows, and 0 when there are none.
 */
import type { ErrorCode } from "../../../shared/errors.ts";
import { USD_DECIMALS } from "../../../shared/money/usd.ts";
import { UPSTREAM_ERROR } from "../../../shared/schema/log-facets.ts";

/** A stream that broke off keeps its status of 200. */
const STREAM_ERROR = "upstream_stream_error" satisfies ErrorCode;

/** The error code of rows of a table by which a log is filtered and counted. */
export const loggedErrorCode = (table: string): string =>
  `if(${table}.error_code = '' AND ${table}.status_code >= 400, '${UPSTREAM_ERROR}', ${table}.error_code)`;

/** Condition of a successful row: status 2xx or 3xx. */
export const OK = "u.status_code BETWEEN 200 AND 399";

/** How requests ended that were not served whole, by the names of their columns; a request is at most one of them. */
export const OUTCOME_COLUMNS = ["refused_requests", "failed_requests", "left_requests"] as const;

/** The conditions of the outcomes on rows of a table (docs/rules/usage-reads.md#outcomes). */
export function outcomesOf(table: string): Readonly<Record<(typeof OUTCOME_COLUMNS)[number], string>> {
  const status = `${table}.status_code`;
  const upstream = `${table}.upstream_status`;
  // these say something about the upstream, and nothing about the request
  const isUpstreams = `(${table}.attempts > 0 AND (${upstream} IN (401, 403, 404, 408, 409, 425, 429) OR ${upstream} >= 500))`;
  return {
    refused_requests: `(${status} BETWEEN 400 AND 498 AND NOT ${isUpstreams})`,
    failed_requests: `(${status} BETWEEN 400 AND 498 AND ${isUpstreams} OR ${status} >= 500
      OR ${status} < 400 AND ${table}.error_code = '${STREAM_ERROR}')`,
    left_requests: `(${status} = 499)`,
  };
}

/** Condition of a row that has an outcome. */
export const NOT_SERVED = `u.status_code >= 400 OR u.error_code = '${STREAM_ERROR}'`;
/** Counts of single requests, as columns. */
export const COUNTED_OUTCOMES = OUTCOME_COLUMNS.map((name) => `countIf(${outcomesOf("u")[name]}) AS ${name}`).join(
  ", ",
);

const DECODE_MS = "if(u.total_ms >= u.ttft_ms + 20, u.total_ms - u.ttft_ms, u.total_ms - u.queue_wait_ms)";
/** Condition of a row whose decoding had a speed. */
export const DECODED = `u.status_code BETWEEN 200 AND 299 AND u.total_ms >= 20 AND u.output_tokens >= 1 AND ${DECODE_MS} > 0`;

/** Output tokens of a row per second of its decoding. */
export const TOKENS_PER_SEC = `u.output_tokens / (${DECODE_MS} / 1000)`;

/** A figure with one decimal, 0 when it is not a number. */
export const oneDecimal = (expression: string): string => `round(ifNotFinite(${expression}, 0), 1)`;

/**
 * From this value on a number has fewer decimals than any read shows, and rounding it could exceed what a number can hold.
 */
const WHOLE_FROM = 1e15;

/** A rounded expression. A sum that exceeds the largest number becomes the largest number, because JSON has no infinity. */
const rounded = (expression: string, decimals: number): string =>
  `if(${expression} < ${WHOLE_FROM}, round(${expression}, ${decimals}), least(${expression}, ${Number.MAX_VALUE}))`;

/** An expression in USD, rounded as every read shows it (shared/money/usd.ts). */
export const usd = (expression: string): string => rounded(expression, USD_DECIMALS);

/** An expression in Wh or grams. */
export const physical = (expression: string): string => rounded(expression, 6);

/** Energy in Wh, its cost in USD, and carbon in grams. */
export const ENERGY = `${physical("sum(u.energy_wh)")} AS energy_wh,
  ${usd("sum(u.energy_cost_usd)")} AS energy_cost_usd,
  ${physical("sum(u.co2_g)")} AS co2_g`;

/**
 * The model of a row of `usage_raw`. Names of models that are not registered count under ""
 * (docs/rules/settlement-and-rows.md#model-names).
 */
export const registeredModel = (table: string): string =>
  `if(${table}.admission = 'rejected' AND ${table}.status_code = 404, '', ${table}.model)`;

/** Stands between the model and the name of its endpoint; neither can have it. */
const ENDPOINT_SEPARATOR = "\\n";

/** The endpoint of `usage_raw AS u` that was called last, with its model; "" when none was called. */
export const CALLED_ENDPOINT = `if(u.attempts = 0, '', concat(if(u.served_model = '', ${registeredModel("u")}, u.served_model),
  '${ENDPOINT_SEPARATOR}', u.endpoint))`;

/** Model and endpoint of a label that was made so. */
export const ENDPOINT_PARTS = `splitByChar('${ENDPOINT_SEPARATOR}', u.label)`;

/** UUID columns as text. */
export const idText = (column: "tenant_id" | "key_id"): string => `toString(u.${column}) AS ${column}`;

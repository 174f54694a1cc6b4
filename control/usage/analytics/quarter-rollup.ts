/**
 * The rollup by quarter of an hour (docs/rules/storage-layouts.md#usage-quarter): its columns, what its view makes of inserted
 * rows, and the figures that are made of it.
 */
import {
  COUNTED_OUTCOMES,
  DECODED,
  NOT_SERVED,
  OK,
  OUTCOME_COLUMNS,
  oneDecimal,
  registeredModel,
  TOKENS_PER_SEC,
} from "./expressions.ts";

const LEVELS = "0.5, 0.95, 0.99";
const TIMES = ["ttft", "total", "queue_wait"] as const;

const SUMMED = [
  "input_tokens",
  "output_tokens",
  "total_tokens",
  "estimated_tokens",
  "cost_usd",
  "energy_wh",
  "energy_cost_usd",
  "co2_g",
] as const;
const COUNTED = ["requests", "success_requests", "error_requests", "cache_hits", "cache_misses"] as const;

/** The sums of quarters and days that have both rollups. */
export const SUMMED_COLUMNS: readonly string[] = [
  ...COUNTED,
  ...OUTCOME_COLUMNS,
  ...SUMMED,
  "hit_tokens",
  "sum_ttft_ms",
  "sum_total_ms",
];

/** The states of the rollup by quarters, in the order of their columns. */
export const STATES: readonly string[] = [...TIMES.map((name) => `u.${name}_ms`), "u.gen_speed"];
/** Those of rows that have none. */
export const NO_STATES: readonly string[] = [
  ...TIMES.map((name) => `arrayReduce('quantilesBFloat16State(${LEVELS})', emptyArrayUInt32()) AS ${name}_ms`),
  "arrayReduce('quantileBFloat16State(0.5)', emptyArrayFloat64()) AS gen_speed",
];

/** The columns of the table when it is made; `hit_tokens` and the outcomes came later. */
export const QUARTER_COLUMNS: readonly string[] = [
  "quarter DateTime('UTC')",
  "tenant_id UUID",
  "key_id UUID",
  "model LowCardinality(String)",
  ...COUNTED.map((name) => `${name} SimpleAggregateFunction(sum, UInt64)`),
  ...SUMMED.map((name) => `${name} SimpleAggregateFunction(sum, ${name.endsWith("_tokens") ? "UInt64" : "Float64"})`),
  ...["sum_ttft_ms", "sum_total_ms"].map((name) => `${name} SimpleAggregateFunction(sum, UInt64)`),
  ...TIMES.map((name) => `${name}_ms AggregateFunction(quantilesBFloat16(${LEVELS}), UInt32)`),
  "gen_speed AggregateFunction(quantileBFloat16(0.5), Float64)",
];

/** The states of single requests. */
const STATES_OF_REQUESTS = [
  ...TIMES.map((name) => `quantilesBFloat16StateIf(${LEVELS})(u.${name}_ms, ${OK}) AS ${name}_ms`),
  `quantileBFloat16StateIf(0.5)(${TOKENS_PER_SEC}, ${DECODED}) AS gen_speed`,
];

/**
 * Quarters of the rows of `usage_raw AS u` that meet a condition, one row per quarter, tenant, key, model, and value of the
 * expression `label`.
 */
const quartersWith = (db: string, where: string, more: readonly string[], label: string | null = null): string => `
      SELECT toStartOfFifteenMinutes(u.ts) AS quarter, u.tenant_id AS tenant_id, u.key_id AS key_id,
        ${registeredModel("u")} AS model,${label === null ? "" : ` ${label} AS label,`}
        count() AS requests,
        countIf(${OK}) AS success_requests,
        countIf(u.status_code >= 400) AS error_requests,
        countIf(u.cache_status = 'hit') AS cache_hits,
        countIf(u.cache_status = 'miss') AS cache_misses,
        ${SUMMED.map((name) => `sum(u.${name}) AS ${name}`).join(",\n        ")},
        sumIf(u.ttft_ms, ${OK}) AS sum_ttft_ms,
        sumIf(u.total_ms, ${OK}) AS sum_total_ms,
        ${more.join(",\n        ")}
      FROM ${db}.usage_raw AS u WHERE ${where}
      GROUP BY quarter, tenant_id, key_id, model${label === null ? "" : ", label"}`;

/** What the view of the rollup takes of the rows from its start on. */
export const quartersOfView = (db: string, where: string): string =>
  quartersWith(db, `u.request_type != 'benchmark' AND ${where}`, STATES_OF_REQUESTS);

/** The same of rows as a read needs it; `times`: with states; `label`: see above. */
export const quartersOfRows = (db: string, where: string, times: boolean, label: string | null): string =>
  quartersWith(
    db,
    where,
    [
      "sumIf(u.total_tokens, u.cache_status = 'hit') AS hit_tokens",
      COUNTED_OUTCOMES,
      ...(times ? STATES_OF_REQUESTS : []),
    ],
    label,
  );

type Per = "day" | "quarter";

/** What came later to both rollups: columns, and the rows that have something in them. */
export interface Addition {
  readonly columns: readonly string[];
  readonly counted: string;
  readonly where: string;
}

/** The tokens of cache hits. */
export const HITS: Addition = {
  columns: ["hit_tokens"],
  counted: "sum(u.total_tokens) AS hit_tokens",
  where: "u.cache_status = 'hit'",
};
/** How requests ended that were not served. */
export const NOT_SERVED_BY_OUTCOME: Addition = {
  columns: OUTCOME_COLUMNS,
  counted: COUNTED_OUTCOMES,
  where: `(${NOT_SERVED})`,
};

/** An addition of the rows that meet a condition, per day or quarter, tenant, key and model. */
export const additionOf = ({ counted, where: kind }: Addition, db: string, per: Per, where: string): string => `
      SELECT ${per === "day" ? "toDate(u.ts)" : "toStartOfFifteenMinutes(u.ts)"} AS ${per}, u.tenant_id AS tenant_id,
        u.key_id AS key_id, ${registeredModel("u")} AS model, ${counted}
      FROM ${db}.usage_raw AS u WHERE ${kind} AND u.request_type != 'benchmark' AND ${where}
      GROUP BY ${per}, tenant_id, key_id, model`;

/** A DateTime64 from a time in UTC, YYYY-MM-DD HH:MM:SS. */
export const instantOf = (text: string): string => `toDateTime64('${text}', 3, 'UTC')`;

/** A percentile of a time from the states of quarters; not finite when there are none. */
export const mergedPercentile = (time: (typeof TIMES)[number], at: number): string =>
  `quantilesBFloat16Merge(${LEVELS})(u.${time}_ms)[${at + 1}]`;

/** p50, p95 and p99 of each time over successful requests, 1 decimal; null when there were none. */
export const PERCENTILES = TIMES.flatMap((name) =>
  ["p50", "p95", "p99"].map((level, at) => {
    const value = mergedPercentile(name, at);
    return `if(isFinite(${value}), round(${value}, 1), NULL) AS ${level}_${name}_ms`;
  }),
).join(", ");

/** Median of output tokens per second of decoding, from the states of quarters. */
export const MERGED_TOKENS_PER_SEC = oneDecimal("quantileBFloat16Merge(0.5)(u.gen_speed)");

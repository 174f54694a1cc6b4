/**
 * The tables of the analytics store, one object per migration, in order, idempotent
 * (docs/rules/storage-layouts.md#analytics-tables). Every table, the rollup's target included, has a deduplication
 * window: without it a repeated insert would count twice in the rollup.
 */
import { USAGE_COLUMNS } from "../../../shared/usage/usage-row.ts";
import { OUTCOME_COLUMNS, registeredModel } from "./expressions.ts";
import {
  additionOf,
  HITS,
  instantOf,
  NOT_SERVED_BY_OUTCOME,
  QUARTER_COLUMNS,
  quartersOfView,
} from "./quarter-rollup.ts";

interface AnalyticsMigration {
  readonly name: string;
  /** `quartersFrom`: the start of the rollup by quarters, as {@link quartersFromText} writes it. */
  readonly statement: (db: string, quartersFrom: string) => string;
}

/** The longest time that an insert may take, and clocks may differ, with room to spare. */
const QUARTERS_LATER_MS = 3_600_000;
const DAY_MS = 86_400_000;

/**
 * Where the rollup by quarters starts in a store that has no such table yet. In a new store it has every row. In one that
 * an older version has filled it starts at a full hour that is still to come: only later rows are certain to pass its view.
 * Text in UTC, YYYY-MM-DD HH:MM:SS; it is kept as the comment of the table.
 */
export function quartersFromText(isNew: boolean, nowMs: number): string {
  const startMs = isNew ? 0 : Math.ceil((nowMs + QUARTERS_LATER_MS) / QUARTERS_LATER_MS) * QUARTERS_LATER_MS;
  return new Date(startMs).toISOString().slice(0, 19).replace("T", " ");
}

/** The part of inserted rows that the rollup takes (docs/rules/storage-layouts.md#usage-daily). */
const rollupOf = (db: string): string => `
      SELECT toDate(r.ts) AS day, r.tenant_id AS tenant_id, r.key_id AS key_id, ${registeredModel("r")} AS model,
        count() AS requests,
        countIf(r.status_code BETWEEN 200 AND 399) AS success_requests,
        countIf(r.status_code >= 400) AS error_requests,
        sum(r.input_tokens) AS input_tokens,
        sum(r.output_tokens) AS output_tokens,
        sum(r.total_tokens) AS total_tokens,
        sum(r.estimated_tokens) AS estimated_tokens,
        countIf(r.cache_status = 'hit') AS cache_hits,
        countIf(r.cache_status = 'miss') AS cache_misses,
        sumIf(r.ttft_ms, r.status_code BETWEEN 200 AND 399) AS sum_ttft_ms,
        sumIf(r.total_ms, r.status_code BETWEEN 200 AND 399) AS sum_total_ms,
        sum(r.cost_usd) AS cost_usd,
        sum(r.energy_wh) AS energy_wh,
        sum(r.energy_cost_usd) AS energy_cost_usd,
        sum(r.co2_g) AS co2_g
      FROM ${db}.usage_raw AS r WHERE r.request_type != 'benchmark'
      GROUP BY day, tenant_id, key_id, model`;

/**
 * How many inserts, of all ledgers together, a table remembers. A ledger whose acknowledgement was lost sends again
 * within 90 s (30 s until it gives up, 60 s of pause); meanwhile each other ledger makes up to four inserts a second.
 * The 1,000 of docs/rules/storage-layouts.md#analytics-tables would be used up after 31 s with eight ledgers, and the
 * repeated segment would count twice; 10,000 are enough for twenty-seven ledgers.
 */
const INSERTS_REMEMBERED = 10_000;

const WINDOW = "SETTINGS non_replicated_deduplication_window = 1000";

/** What `usage_raw` had in the first version. */
const FIRST_COLUMNS = USAGE_COLUMNS.flatMap(({ name, type, added }) => (added ? [] : [`${name} ${type}`]));

/** The columns of the daily rollup when it is made. */
const DAILY_COLUMNS = [
  "day Date",
  "tenant_id UUID",
  "key_id UUID",
  "model LowCardinality(String)",
  "requests UInt64",
  "success_requests UInt64",
  "error_requests UInt64",
  "input_tokens UInt64",
  "output_tokens UInt64",
  "total_tokens UInt64",
  "estimated_tokens UInt64",
  "cache_hits UInt64",
  "cache_misses UInt64",
  "sum_ttft_ms UInt64",
  "sum_total_ms UInt64",
  "cost_usd Float64",
  "energy_wh Float64",
  "energy_cost_usd Float64",
  "co2_g Float64",
];
const DAILY_HIT_TOKENS = "hit_tokens UInt64";
const QUARTER_HIT_TOKENS = "hit_tokens SimpleAggregateFunction(sum, UInt64)";
const DAILY_OUTCOMES = OUTCOME_COLUMNS.map((name) => `${name} UInt64`);
const QUARTER_OUTCOMES = OUTCOME_COLUMNS.map((name) => `${name} SimpleAggregateFunction(sum, UInt64)`);

const SPAN_COLUMNS = [
  "request_id UUID",
  "span_name LowCardinality(String)",
  "parent_span LowCardinality(String)",
  "start DateTime64(3, 'UTC') CODEC(DoubleDelta, ZSTD(1))",
  "duration_ms Float64",
  "status LowCardinality(String)",
  "attributes String CODEC(ZSTD(3))",
];

/** The columns of every table after all migrations, each as a statement defines it. */
export const TABLE_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  usage_raw: USAGE_COLUMNS.map(({ name, type }) => `${name} ${type}`),
  usage_daily: [...DAILY_COLUMNS, DAILY_HIT_TOKENS, ...DAILY_OUTCOMES],
  usage_quarter: [...QUARTER_COLUMNS, QUARTER_HIT_TOKENS, ...QUARTER_OUTCOMES],
  spans: SPAN_COLUMNS,
};

export const MIGRATIONS: readonly AnalyticsMigration[] = [
  { name: "0001-database", statement: (db) => `CREATE DATABASE IF NOT EXISTS ${db}` },
  {
    name: "0002-usage-raw",
    statement: (db) => `CREATE TABLE IF NOT EXISTS ${db}.usage_raw (
      ${FIRST_COLUMNS.join(",\n      ")},
      INDEX by_tenant tenant_id TYPE bloom_filter(0.01) GRANULARITY 4,
      INDEX by_key key_id TYPE bloom_filter(0.01) GRANULARITY 4,
      INDEX by_session session_id TYPE bloom_filter(0.01) GRANULARITY 4,
      INDEX by_request request_id TYPE bloom_filter(0.01) GRANULARITY 4
    ) ENGINE = MergeTree PARTITION BY toYYYYMMDD(ts) ORDER BY (ts, tenant_id, request_id) ${WINDOW}`,
  },
  {
    name: "0003-usage-daily",
    statement: (db) => `CREATE TABLE IF NOT EXISTS ${db}.usage_daily (
      ${DAILY_COLUMNS.join(",\n      ")}
    ) ENGINE = SummingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (day, tenant_id, key_id, model) ${WINDOW}`,
  },
  {
    name: "0004-usage-daily-mv",
    statement: (db) =>
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${db}.usage_daily_mv TO ${db}.usage_daily AS ${rollupOf(db)}`,
  },
  {
    name: "0005-spans",
    statement: (db) => `CREATE TABLE IF NOT EXISTS ${db}.spans (
      ${SPAN_COLUMNS.join(",\n      ")}
    ) ENGINE = MergeTree PARTITION BY toYYYYMMDD(start) ORDER BY (request_id, start) ${WINDOW}`,
  },
  // rows of an older version have "" and 0 here (docs/rules/storage-layouts.md#usage-raw)
  ...USAGE_COLUMNS.flatMap(({ name, type, added }, at) => {
    const column = `${name} ${type} AFTER ${USAGE_COLUMNS[at - 1]?.name}`;
    const statement = (db: string): string => `ALTER TABLE ${db}.usage_raw ADD COLUMN IF NOT EXISTS ${column}`;
    return added ? [{ name: `0008-usage-raw-${name}`, statement }] : [];
  }),
  {
    name: "0009-usage-quarter",
    statement: (db, quartersFrom) => `CREATE TABLE IF NOT EXISTS ${db}.usage_quarter (
      ${QUARTER_COLUMNS.join(",\n      ")}
    ) ENGINE = AggregatingMergeTree PARTITION BY toYYYYMM(quarter) ORDER BY (quarter, tenant_id, key_id, model)
    SETTINGS non_replicated_deduplication_window = ${INSERTS_REMEMBERED} COMMENT '${quartersFrom}'`,
  },
  ...["usage_raw", "usage_daily", "spans"].map((table) => ({
    name: `0007-deduplication-window-${table}`,
    statement: (db: string): string =>
      `ALTER TABLE ${db}.${table} MODIFY SETTING non_replicated_deduplication_window = ${INSERTS_REMEMBERED}`,
  })),
  {
    name: "0011-usage-daily-hit-tokens",
    statement: (db) => `ALTER TABLE ${db}.usage_daily ADD COLUMN IF NOT EXISTS ${DAILY_HIT_TOKENS}`,
  },
  {
    name: "0011-usage-quarter-hit-tokens",
    statement: (db) => `ALTER TABLE ${db}.usage_quarter ADD COLUMN IF NOT EXISTS ${QUARTER_HIT_TOKENS}`,
  },
  // a view of its own, because a view that exists already cannot be changed without losing its deduplication tokens
  {
    name: "0012-usage-daily-hits-mv",
    statement: (db) =>
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${db}.usage_daily_hits_mv TO ${db}.usage_daily AS ${additionOf(HITS, db, "day", "1")}`,
  },
  ...["usage_daily", "usage_quarter"].map((table) => ({
    name: `0013-${table.replace("_", "-")}-outcomes`,
    statement: (db: string): string => {
      const columns = table === "usage_daily" ? DAILY_OUTCOMES : QUARTER_OUTCOMES;
      return `ALTER TABLE ${db}.${table} ${columns.map((column) => `ADD COLUMN IF NOT EXISTS ${column}`).join(", ")}`;
    },
  })),
  {
    name: "0014-usage-daily-outcomes-mv",
    statement: (db) =>
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${db}.usage_daily_outcomes_mv TO ${db}.usage_daily
      AS ${additionOf(NOT_SERVED_BY_OUTCOME, db, "day", "1")}`,
  },
];

/**
 * An older version kept names of models that are not registered in the rollup: from now on its view counts them under ""
 * too. Only for a view of that version: until the store is started again, a changed view gives inserts other deduplication
 * tokens than it will give them afterwards, so that an insert that is sent again would count twice.
 */
export const OLD_DAILY_VIEW = {
  name: "0006-usage-daily-mv-models",
  statement: (db: string): string => `ALTER TABLE ${db}.usage_daily_mv MODIFY QUERY ${rollupOf(db)}`,
  /** `query`: that of the view, as the store writes it. */
  isOld: (query: string): boolean => !query.includes("'rejected'"),
} as const;

/** Fill the rollup by quarters from its start on, which the table's comment says. */
export const QUARTER_VIEWS: readonly AnalyticsMigration[] = [
  {
    name: "0010-usage-quarter-mv",
    statement: (db, quartersFrom) =>
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${db}.usage_quarter_mv TO ${db}.usage_quarter AS
      ${quartersOfView(db, `u.ts >= ${instantOf(quartersFrom)}`)}`,
  },
  {
    name: "0012-usage-quarter-hits-mv",
    statement: (db, quartersFrom) =>
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${db}.usage_quarter_hits_mv TO ${db}.usage_quarter AS
      ${additionOf(HITS, db, "quarter", `u.ts >= ${instantOf(quartersFrom)}`)}`,
  },
  {
    name: "0014-usage-quarter-outcomes-mv",
    statement: (db, quartersFrom) =>
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${db}.usage_quarter_outcomes_mv TO ${db}.usage_quarter AS
      ${additionOf(NOT_SERVED_BY_OUTCOME, db, "quarter", `u.ts >= ${instantOf(quartersFrom)}`)}`,
  },
];

/** Moves the mark of how far the raw ledger reaches back (kept-rows.ts) to a day, YYYY-MM-DD. */
export const keptFromStatement = (db: string, day: string): string =>
  `ALTER TABLE ${db}.usage_raw MODIFY COMMENT '${day}'`;

/**
 * Selects the day after the newest one that has fewer rows than the rollup counts: an older version, or an operator, has
 * dropped rows and left no mark. The rows of the last two days may be on their way between the tables.
 */
export const firstKeptDay = (db: string, nowMs: number): string => `
  SELECT toString(if(count() = 0, toDate(0), max(rolled.day) + 1)) AS day
  FROM (SELECT toYYYYMMDD(d.day) AS name, d.day AS day, sum(d.requests) AS requests FROM ${db}.usage_daily AS d
    WHERE d.day < toDate(${Math.floor(nowMs / DAY_MS)}) - 1 GROUP BY d.day) AS rolled
  LEFT JOIN (SELECT toUInt32OrZero(partition) AS name, sum(rows) AS rows FROM system.parts
    WHERE database = '${db}' AND table = 'usage_raw' AND active GROUP BY partition) AS kept ON kept.name = rolled.name
  WHERE kept.rows < rolled.requests`;

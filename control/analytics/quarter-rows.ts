/**
 * Where reads by days of a zone take their rows from (docs/rules/storage-layouts.md#usage-quarter). Invariant: the view of the
 * rollup takes exactly the rows of the rollup's start and later. Rows from before it are in the raw ledger alone, so that the
 * two together have every row once.
 */
import { NIL_UUID } from "../../shared/usage-row.ts";
import { registeredModel } from "./expressions.ts";
import { quartersOf } from "./quarter-rollup.ts";
import type { AnalyticsStore, QueryParams } from "./store.ts";

/** How long quarters are kept, in days. */
export const QUARTERS_KEPT_DAYS = 400;

const DAY_MS = 86_400_000;
/** What is read of the rollup; times in epoch ms, at full quarters of an hour. */
interface QuarterScope {
  readonly fromMs: number;
  /** Exclusive. */
  readonly beforeMs: number;
  readonly tenant_id?: string | undefined;
  readonly key_ids?: readonly string[] | undefined;
  readonly model?: string | undefined;
  /** Whether rows of the nil tenant count. */
  readonly unknownCallers: boolean;
}

interface QuarterRows {
  /** For FROM: rows with the columns of the table, to be summed and merged. */
  readonly from: string;
  readonly params: QueryParams;
}

/**
 * The quarters of a period. Those from before the rollup's start, which an older version has written, are made from the raw
 * ledger, while it has them. Throws 503.
 */
export async function quarterRows(store: AnalyticsStore, scope: QuarterScope): Promise<QuarterRows> {
  const startMs = await store.quartersFromMs();
  const params: Record<string, string | number | readonly string[]> = { from: scope.fromMs, before: scope.beforeMs };
  const whose: string[] = [];
  const add = (condition: string, name: string, value: string | readonly string[] | undefined): void => {
    if (value === undefined) return;
    whose.push(condition);
    params[name] = value;
  };
  add("u.tenant_id = {tenant:UUID}", "tenant", scope.tenant_id);
  add("u.key_id IN {keys:Array(UUID)}", "keys", scope.key_ids);
  if (!scope.unknownCallers) whose.push(`u.tenant_id != toUUID('${NIL_UUID}')`);
  const modelIs = (column: string): readonly string[] =>
    scope.model === undefined ? [] : [`${column} = {name:String}`];
  if (scope.model !== undefined) params["name"] = scope.model;
  const within = (column: string, at: (name: string) => string): readonly string[] => [
    `${column} >= ${at("from")}`,
    `${column} < ${at("before")}`,
  ];
  const quarters = [
    ...within("u.quarter", (name) => `toDateTime(intDiv({${name}:Int64}, 1000), 'UTC')`),
    ...whose,
    ...modelIs("u.model"),
  ];
  const kept = (more: readonly string[]): string =>
    `SELECT * FROM ${store.db}.usage_quarter AS u WHERE ${[...quarters, ...more].join(" AND ")}`;
  if (scope.fromMs >= startMs) return { from: `(${kept([])})`, params };
  // the table may have been made anew meanwhile, with an earlier start
  const later = kept(["u.quarter >= toDateTime(intDiv({start:Int64}, 1000), 'UTC')"]);
  const raw = [
    ...within("u.ts", (name) => `fromUnixTimestamp64Milli({${name}:Int64})`),
    "u.ts < fromUnixTimestamp64Milli({start:Int64})",
    ...whose,
    ...modelIs(registeredModel("u")),
  ];
  const from = `(${later} UNION ALL ${quartersOf(store.db, raw.join(" AND "))})`;
  return { from, params: { ...params, start: startMs } };
}

/**
 * The part of a period of which there are quarters, at most. Without this, a period of any length would be walked day by
 * day. Null: none of it.
 */
export function keptDays(firstDay: string, lastDay: string, nowMs: number): readonly [string, string] | null {
  const oldest = dayOf(nowMs - (QUARTERS_KEPT_DAYS + 2) * DAY_MS);
  const newest = dayOf(nowMs + 2 * DAY_MS);
  const [first, last] = [firstDay > oldest ? firstDay : oldest, lastDay < newest ? lastDay : newest];
  return first > last ? null : [first, last];
}

const dayOf = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10);

/**
 * Where a read of usage takes its rows from (docs/rules/usage-reads.md#sources): the stretches of its window, each from the
 * table that `usage-window.ts` chooses. Values are sent as parameters, never in the text of the query.
 */
import { NIL_UUID } from "../../../shared/usage/usage-row.ts";
import { CALLED_ENDPOINT, registeredModel } from "./expressions.ts";
import { type Figures, OF_REQUESTS, OF_SUMS } from "./figures.ts";
import { rowsKeptFromMs } from "./kept-rows.ts";
import { NO_STATES, quartersOfRows, STATES, SUMMED_COLUMNS } from "./quarter-rollup.ts";
import type { AnalyticsStore, QueryParams } from "./store.ts";
import {
  type Detail,
  dayOf,
  QUARTERS_KEPT_DAYS,
  type Stretch,
  stretchesOf,
  type UsageWindow,
  type WindowQuery,
  windowOf,
} from "./usage-window.ts";

const DAY_MS = 86_400_000;
const IDS = ["tenant_id", "key_id", "model"];
const NIL = `toUUID('${NIL_UUID}')`;

/** Whose usage is read, and when. */
interface UsageScope extends WindowQuery {
  readonly tenant_id?: string | undefined;
  readonly key_id?: string | readonly string[] | undefined;
  readonly model?: string | undefined;
  /** Of the model: only requests that called it last. */
  readonly endpoint?: string | undefined;
  readonly include_internal?: boolean | undefined;
  readonly group_by?: string;
  readonly tag_name?: string | undefined;
}

/**
 * What only single requests have of what a read is grouped by: an expression on `usage_raw AS u`, which becomes the column `label`;
 * null: none. Only requests whose rows are kept count then.
 */
function labelOf({ group_by, tag_name = "" }: UsageScope): {
  readonly label: string | null;
  readonly params: QueryParams;
} {
  if (group_by === "end_user") return { label: "u.end_user", params: {} };
  if (group_by === "endpoint") return { label: CALLED_ENDPOINT, params: {} };
  if (group_by !== "tag") return { label: null, params: {} };
  const tag = "arrayFirst(tag -> startsWith(tag, {tag:String}), splitByChar(',', u.tags))";
  return { label: `substring(${tag}, length({tag:String}) + 1)`, params: { tag: `${tag_name}=` } };
}

/** `unknownCallers`: whether refusals of callers who are not known count. */
interface Wanted {
  readonly detail: Detail;
  readonly unknownCallers?: boolean;
}

interface UsageSource {
  /** For FROM: rows `u` with `at` (when they begin), ids, model, and what `figures` needs. */
  readonly from: string;
  readonly figures: Figures;
  readonly params: QueryParams;
  readonly window: UsageWindow;
}

/** The rows of a read. `withinMs`: the deadline. Throws 503. */
export async function usageSource(
  store: AnalyticsStore,
  scope: UsageScope,
  { detail, unknownCallers = false }: Wanted,
  nowMs: number,
  withinMs?: number,
): Promise<UsageSource> {
  const window = windowOf(scope, nowMs);
  const internal = scope.include_internal === true;
  const rowsFromMs = await rowsKeptFromMs(store, withinMs);
  const quartersFromMs = Math.max(await store.quartersFromMs(), oldestQuarterMs(nowMs));
  const { label, params: labelParams } = labelOf(scope);
  const isOfRows = label !== null || scope.endpoint !== undefined;
  const onlyRows = internal || isOfRows;
  const stretches = stretchesOf(window, { rowsFromMs, quartersFromMs }, { detail, onlyRows }, nowMs).filter(
    ({ table }) => !isOfRows || table === "requests",
  );
  const ofRequests = detail !== "quarters" && stretches.every(({ table }) => table === "requests");
  const select = ofRequests ? selectRequests(label) : selectSums(detail === "requests" || detail === "quarters", label);
  const whose = conditionsOf(scope, unknownCallers);
  const times = stretches.map((stretch, at) => timeOf(stretch, String(at)));
  const parts = stretches.map(({ table }, at) => {
    const conditions = [times[at]?.where ?? "", ...whose.all, ...(table === "requests" ? whose.requests : whose.sums)];
    return select(store.db, table, conditions.join(" AND "));
  });
  if (parts.length === 0) parts.push(select(store.db, "requests", "0"));
  return {
    from: `(${parts.join(" UNION ALL ")}) AS u`,
    figures: ofRequests ? OF_REQUESTS : OF_SUMS,
    params: Object.assign({ ...whose.params, ...labelParams }, ...times.map(({ params }) => params)) as QueryParams,
    window,
  };
}

/** Whole months of quarters are dropped (retention.ts). */
function oldestQuarterMs(nowMs: number): number {
  return Date.parse(`${dayOf(nowMs - QUARTERS_KEPT_DAYS * DAY_MS).slice(0, 7)}-01T00:00:00Z`);
}

/** The condition of a stretch, whose parameters end in `at`. */
function timeOf({ table, fromMs, beforeMs }: Stretch, at: string): { where: string; params: QueryParams } {
  const instant = {
    requests: (name: string) => `fromUnixTimestamp64Milli({${name}:Int64})`,
    quarters: (name: string) => `toDateTime(intDiv({${name}:Int64}, 1000), 'UTC')`,
    days: (name: string) => `{${name}:Date}`,
  }[table];
  const column = { requests: "u.ts", quarters: "u.quarter", days: "u.day" }[table];
  const value = (ms: number): string | number => (table === "days" ? dayOf(ms) : ms);
  const from = `${column} >= ${instant(`from${at}`)}`;
  if (beforeMs === Number.POSITIVE_INFINITY) return { where: from, params: { [`from${at}`]: value(fromMs) } };
  return {
    where: `${from} AND ${column} < ${instant(`before${at}`)}`,
    params: { [`from${at}`]: value(fromMs), [`before${at}`]: value(beforeMs) },
  };
}

/** The rows of a stretch that meet a condition on `u`. */
type Select = (db: string, table: Stretch["table"], where: string) => string;

const selectRequests =
  (label: string | null): Select =>
  (db, _, where) => {
    const columns = `u.* REPLACE (${registeredModel("u")} AS model), u.ts AS at${label === null ? "" : `, ${label} AS label`}`;
    return `SELECT ${columns} FROM ${db}.usage_raw AS u WHERE ${where}`;
  };

/** Rows with the columns of the rollup by quarters; `times`: with its states too. */
const selectSums =
  (times: boolean, label: string | null): Select =>
  (db, table, where) => {
    const states = [...(times ? STATES : []), ...(label === null ? [] : ["u.label"])];
    const columns = (at: string, more: readonly string[]): string =>
      [`${at} AS at`, ...[...IDS, ...SUMMED_COLUMNS].map((name) => `u.${name}`), ...more].join(", ");
    if (table === "requests")
      return `SELECT ${columns("u.quarter", states)} FROM (${quartersOfRows(db, where, times, label)}) AS u`;
    if (table === "quarters")
      return `SELECT ${columns("u.quarter", states)} FROM ${db}.usage_quarter AS u WHERE ${where}`;
    const day = columns("toDateTime(u.day, 'UTC')", times ? NO_STATES : []);
    return `SELECT ${day} FROM ${db}.usage_daily AS u WHERE ${where}`;
  };

interface Conditions {
  readonly all: readonly string[];
  /** Of `usage_raw`. */
  readonly requests: readonly string[];
  /** Of the rollups: they have internal traffic of the nil tenant, which names its model, and no benchmarks. */
  readonly sums: readonly string[];
  readonly params: QueryParams;
}

function conditionsOf(scope: UsageScope, unknownCallers: boolean): Conditions {
  const { tenant_id: tenant, key_id: keys, model, endpoint, include_internal: internal = false } = scope;
  const params: Record<string, string | readonly string[]> = {};
  const all = unknownCallers ? [] : [`u.tenant_id != ${NIL}`];
  const requests = internal ? [] : ["u.request_type NOT IN ('health_probe', 'benchmark')"];
  const sums = internal ? [] : [`(u.tenant_id != ${NIL} OR u.model = '')`];
  if (tenant !== undefined) {
    all.push("u.tenant_id = {tenant:UUID}");
    params["tenant"] = tenant;
  }
  if (keys !== undefined) {
    all.push("u.key_id IN {keys:Array(UUID)}");
    params["keys"] = [keys].flat();
  }
  if (endpoint !== undefined) {
    requests.push(`${CALLED_ENDPOINT} = {called:String}`);
    params["called"] = `${model}\n${endpoint}`;
  } else if (model !== undefined) {
    requests.push(`${registeredModel("u")} = {name:String}`);
    sums.push("u.model = {name:String}");
    params["name"] = model;
  }
  return { all, requests, sums, params };
}

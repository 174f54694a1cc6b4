/**
 * Where sums over a period come from: whole days before today from the rollup, the rest at both ends from the raw ledger.
 * So a month costs little more than a day, and a day that retention has dropped still counts. The rollup does not separate
 * internal traffic: when that is included, everything comes from the raw ledger. These sums are by tenant, key and model
 * only; reads that need single requests (medians, times of day) use `usage_raw`.
 */
import { NIL_UUID } from "../../shared/usage-row.ts";
import { registeredModel } from "./expressions.ts";
import type { QueryParams } from "./store.ts";
import type { UsageScope } from "./usage-filter.ts";

const DAY_MS = 86_400_000;
const LAST_DAY_MS = Date.parse("9999-12-31T00:00:00Z");
const SUMMED =
  "tenant_id, key_id, input_tokens, output_tokens, total_tokens, cost_usd, energy_wh, energy_cost_usd, co2_g";
const MODEL = registeredModel("r");

interface UsageSums {
  /** For FROM: rows with ids, `model`, `requests`, `errors`, tokens, money and energy, to be summed. */
  readonly from: string;
  readonly params: QueryParams;
}

/** UTC days, YYYY-MM-DD, from `first` (inclusive) to `end` (exclusive). */
export interface WholeDays {
  readonly first: string;
  readonly end: string;
}

/** The days that lie wholly in a period; null when there is none. Today is never whole. */
export function wholeDays(sinceMs: number, untilMs: number | undefined, nowMs: number): WholeDays | null {
  const firstMs = Math.ceil(sinceMs / DAY_MS) * DAY_MS;
  const endMs = Math.floor(Math.min(untilMs === undefined ? nowMs : untilMs + 1, nowMs) / DAY_MS) * DAY_MS;
  return endMs > firstMs ? { first: dayOf(firstMs), end: dayOf(endMs) } : null;
}

/** The UTC day of an instant, YYYY-MM-DD; for instants after the year 9999 the last day that this form can hold. */
export function dayOf(epochMs: number): string {
  return new Date(Math.min(epochMs, LAST_DAY_MS)).toISOString().slice(0, 10);
}

/** What was used in the period, without rows of the nil tenant. */
export function usageSums(db: string, scope: UsageScope, nowMs: number): UsageSums {
  const sinceMs = scope.since_ms ?? nowMs - DAY_MS;
  const days = scope.include_internal === true ? null : wholeDays(sinceMs, scope.until_ms, nowMs);
  const params: Record<string, string | number> = { since: sinceMs };
  const both = [`r.tenant_id != toUUID('${NIL_UUID}')`];
  const raw = ["r.ts >= fromUnixTimestamp64Milli({since:Int64})"];
  const rollup: string[] = [];
  const add = (to: string[], condition: string, name: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    to.push(condition);
    params[name] = value;
  };
  add(both, "r.tenant_id = {tenant:UUID}", "tenant", scope.tenant_id);
  add(both, "r.key_id = {key:UUID}", "key", scope.key_id);
  add(raw, "r.ts <= fromUnixTimestamp64Milli({until:Int64})", "until", scope.until_ms);
  add(raw, `${MODEL} = {name:String}`, "name", scope.model);
  add(rollup, "r.model = {name:String}", "name", scope.model);
  if (scope.include_internal !== true) raw.push("r.request_type NOT IN ('health_probe', 'benchmark')");
  const single = (): string => `SELECT ${SUMMED}, ${MODEL} AS model, toUInt64(1) AS requests,
      toUInt64(r.status_code >= 400) AS errors
    FROM ${db}.usage_raw AS r WHERE ${[...raw, ...both].join(" AND ")}`;
  if (days === null) return { from: `(${single()})`, params };
  const midnight = (name: string): string => `toDateTime64({${name}:Date}, 3, 'UTC')`;
  raw.push(`(r.ts < ${midnight("first_day")} OR r.ts >= ${midnight("end_day")})`);
  rollup.push("r.day >= {first_day:Date} AND r.day < {end_day:Date}");
  const daily = `SELECT ${SUMMED}, model, requests, error_requests AS errors FROM ${db}.usage_daily AS r WHERE ${[...rollup, ...both].join(" AND ")}`;
  return {
    from: `(${single()} UNION ALL ${daily})`,
    params: { ...params, first_day: days.first, end_day: days.end },
  };
}

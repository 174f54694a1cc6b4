/**
 * The conditions that every read of the raw ledger shares (docs/rules/usage-reads.md#filters): period, tenant, key,
 * model, internal traffic. Values are sent as parameters, never in the text of the query. Columns are those of
 * `usage_raw AS u`.
 */
import type { QueryParams } from "./store.ts";

const DAY_MS = 86_400_000;
const NIL = "toUUID('00000000-0000-0000-0000-000000000000')";

/** What a caller may restrict a read to; times in epoch ms. */
export interface UsageScope {
  readonly since_ms?: number | undefined;
  readonly until_ms?: number | undefined;
  readonly tenant_id?: string | undefined;
  readonly key_id?: string | undefined;
  readonly model?: string | undefined;
  readonly include_internal?: boolean | undefined;
}

export interface UsageFilter {
  /** A condition for WHERE. */
  readonly where: string;
  readonly params: QueryParams;
  /** The period that is read, epoch ms. */
  readonly sinceMs: number;
  readonly untilMs: number;
}

/**
 * The filter of a usage scope. `refusals`: whether rows of the nil tenant count, as they do in totals of the whole gateway.
 */
export function usageFilter(scope: UsageScope, nowMs: number, options: { readonly refusals: boolean }): UsageFilter {
  const sinceMs = scope.since_ms ?? nowMs - DAY_MS;
  const params: Record<string, string | number> = { since: sinceMs };
  const where = ["u.ts >= fromUnixTimestamp64Milli({since:Int64})"];
  const add = (condition: string, name: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    where.push(condition);
    params[name] = value;
  };
  if (!options.refusals) where.push(`u.tenant_id != ${NIL}`);
  add("u.ts <= fromUnixTimestamp64Milli({until:Int64})", "until", scope.until_ms);
  add("u.tenant_id = {tenant:UUID}", "tenant", scope.tenant_id);
  add("u.key_id = {key:UUID}", "key", scope.key_id);
  add("u.model = {name:String}", "name", scope.model);
  if (scope.include_internal !== true) where.push("u.request_type NOT IN ('health_probe', 'benchmark')");
  return { where: where.join(" AND "), params, sinceMs, untilMs: scope.until_ms ?? nowMs };
}

/**
 * The conditions that every read of the raw ledger shares (decisions §12.1): period, tenant, key, model, internal traffic.
 * Values travel as parameters, never in the text. Columns are those of `usage_raw AS u`.
 */
import type { QueryParams } from "./store.ts";

const DAY_MS = 86_400_000;
const NIL = "toUUID('00000000-0000-0000-0000-000000000000')";

/** What a caller may ask for; times in epoch ms. */
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

/** `refusals`: whether rows of the nil tenant count, as they do where totals of the whole gateway are shown. */
export function usageFilter(ask: UsageScope, nowMs: number, options: { readonly refusals: boolean }): UsageFilter {
  const sinceMs = ask.since_ms ?? nowMs - DAY_MS;
  const params: Record<string, string | number> = { since: sinceMs };
  const where = ["u.ts >= fromUnixTimestamp64Milli({since:Int64})"];
  const add = (condition: string, name: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    where.push(condition);
    params[name] = value;
  };
  if (!options.refusals) where.push(`u.tenant_id != ${NIL}`);
  add("u.ts <= fromUnixTimestamp64Milli({until:Int64})", "until", ask.until_ms);
  add("u.tenant_id = {tenant:UUID}", "tenant", ask.tenant_id);
  add("u.key_id = {key:UUID}", "key", ask.key_id);
  add("u.model = {name:String}", "name", ask.model);
  if (ask.include_internal !== true) where.push("u.request_type NOT IN ('health_probe', 'benchmark')");
  return { where: where.join(" AND "), params, sinceMs, untilMs: ask.until_ms ?? nowMs };
}

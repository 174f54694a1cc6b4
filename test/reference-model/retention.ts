/** After raw rows were dropped, and one of a dropped day came late, every read of a period must still say the same. */
import { randomUUID } from "node:crypto";
import type { Gateway } from "../harness/gateway.ts";
import { readRows } from "./compare-reads.ts";
import type { Difference } from "./differences.ts";
import type { Key, Model } from "./facts.ts";

const DAY_MS = 86_400_000;
const WINDOW_DAYS = 8;
const OLD_ROWS = 30;

export interface Clickhouse {
  readonly url: string;
  readonly password: string;
}

async function insert({ url, password }: Clickhouse, rows: readonly object[]): Promise<void> {
  const query = "INSERT INTO gateway.usage_raw FORMAT JSONEachRow";
  const response = await fetch(`${url}/?query=${encodeURIComponent(query)}`, {
    method: "POST",
    headers: { "x-clickhouse-user": "default", "x-clickhouse-key": password },
    body: rows.map((row) => JSON.stringify(row)).join("\n"),
  });
  if (!response.ok) throw new Error(`ClickHouse refused the rows of the test: ${await response.text()}`);
}

function oldRow(key: Key, model: Model, atMs: number): object {
  return {
    request_id: randomUUID(),
    ts: new Date(atMs).toISOString().replace("T", " ").replace("Z", ""),
    tenant_id: key.tenant.id,
    key_id: key.id,
    model: model.name,
    request_type: "chat",
    session_id: "old",
    session_id_source: "client",
    admission: "fast",
    cache_status: "off",
    cell: "local",
    device_id: "",
    weight: 100,
    status_code: 200,
    upstream_status: 200,
    attempts: 1,
    input_tokens: 7,
    output_tokens: 5,
    total_tokens: 12,
    estimated_tokens: 20,
    ttft_ms: 20,
    total_ms: 60,
    cost_usd: 0.001,
  };
}

interface Told {
  readonly requests: number;
  readonly tokens: number;
  readonly costUsd: number;
}

const round = (usd: number): number => Math.round(usd * 1e9) / 1e9;

/** What a read says of a period: the sum of its rows. */
async function told(gateway: Gateway, path: string): Promise<Told> {
  const rows = await gateway.must<readonly Readonly<Record<string, number>>[]>("GET", path);
  const sum = (name: string): number => rows.reduce((total, row) => total + (row[name] ?? 0), 0);
  return {
    requests: sum("requests"),
    tokens: sum("input_tokens") + sum("output_tokens"),
    costUsd: round(sum("total_cost") + sum("cost_usd")),
  };
}

/** These say the same of a period, whatever was dropped meanwhile. */
const ALIKE = ["/usage", "/usage/keys", "/usage/breakdown", "/costs"];
/** These have figures that only single requests have, too: they may go by the log. */
const OF_REQUESTS = ["/usage/models", "/usage/series"];

/** The reads of a tenant since a time that are neither what they should be nor what they may be. */
async function disagreeing(
  gateway: Gateway,
  when: string,
  scope: string,
  rollup: Told,
  log: Told,
): Promise<readonly Difference[]> {
  const differences: Difference[] = [];
  const first = await told(gateway, `${ALIKE[0]}?${scope}`);
  const check = async (path: string, options: readonly Told[]): Promise<void> => {
    const found = await told(gateway, `${path}?${scope}`);
    if (options.some((each) => JSON.stringify(each) === JSON.stringify(found))) return;
    differences.push({ what: `retention: ${path} ${when}`, expected: options, found, more: `GET ${path}?${scope}` });
  };
  await check(ALIKE[0] as string, [rollup, log]);
  for (const path of ALIKE.slice(1)) await check(path, [first]);
  for (const path of OF_REQUESTS) await check(path, [rollup, log]);
  return differences;
}

/** The summary of the whole gateway, beside the sum of its tenants: rows without a tenant have neither tokens nor cost. */
async function compareSummary(gateway: Gateway, when: string, sinceMs: number): Promise<readonly Difference[]> {
  const path = `/overview/summary?since_ms=${sinceMs}`;
  const summary = await gateway.must<{ readonly tokens: number; readonly cost: number }>("GET", path);
  const { tokens, costUsd } = await told(gateway, `/usage?since_ms=${sinceMs}`);
  if (summary.tokens === tokens && round(summary.cost) === costUsd) return [];
  return [{ what: `retention: /overview/summary and /usage ${when}`, expected: { tokens, costUsd }, found: summary }];
}

/** Ages some use of a key, drops its days from the raw ledger, and has one row come late. The key's tenant must be new. */
export async function compareRetention(
  gateway: Gateway,
  clickhouse: Clickhouse,
  key: Key,
  model: Model,
): Promise<readonly Difference[]> {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const sinceMs = today - WINDOW_DAYS * DAY_MS;
  const scope = `tenant_id=${key.tenant.id}&since_ms=${sinceMs}`;
  const of = (rows: number): Told => ({ requests: rows, tokens: 12 * rows, costUsd: round(0.001 * rows) });
  const old = Array.from({ length: OLD_ROWS }, (_, at) =>
    oldRow(key, model, today - (3 + (at % 3)) * DAY_MS + at * 1000),
  );
  await insert(clickhouse, old);
  const before = await disagreeing(gateway, "before a prune", scope, of(OLD_ROWS), of(OLD_ROWS));
  await gateway.must("PUT", "/settings/usage-retention", { days: 1 });
  await gateway.must("POST", "/usage/compact");
  const pruned = await disagreeing(gateway, "after a prune", scope, of(OLD_ROWS), of(0));
  const summary = await compareSummary(gateway, "after a prune", sinceMs);
  await insert(clickhouse, [oldRow(key, model, today - 4 * DAY_MS + 3_600_000)]);
  const when = "after a prune and a late row";
  const late = await disagreeing(gateway, when, scope, of(OLD_ROWS + 1), of(1));
  const own = (await readRows(gateway, sinceMs)).filter((row) => row["tenant_id"] === key.tenant.id);
  const totals = await gateway.must<Readonly<Record<string, number>>>("GET", `/usage/logs/totals?${scope}`);
  return [
    ...before,
    ...pruned,
    ...summary,
    ...late,
    ...(totals["requests"] === own.length
      ? []
      : [{ what: `retention: /usage/logs/totals ${when}`, expected: own.length, found: totals }]),
  ];
}

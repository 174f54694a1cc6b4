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

/** What each read says of a tenant since a time. */
async function told(gateway: Gateway, tenantId: string, sinceMs: number): Promise<ReadonlyMap<string, Told>> {
  const scope = `tenant_id=${tenantId}&since_ms=${sinceMs}`;
  const days = `tenant_id=${tenantId}&start_day=${new Date(sinceMs).toISOString().slice(0, 10)}`;
  const reads = [
    `/usage?${scope}`,
    `/usage?${scope}&group_by=model`,
    `/usage/keys?${scope}`,
    `/usage/models?${scope}`,
    `/usage/series?${scope}&bucket_ms=3600000`,
    `/usage/breakdown?${scope}`,
    `/costs?${scope}`,
    `/usage/daily?${days}`,
  ];
  const answers = new Map<string, Told>();
  for (const path of reads) {
    const rows = await gateway.must<readonly Readonly<Record<string, number>>[]>("GET", path);
    const sum = (...names: readonly string[]): number =>
      rows.reduce((total, row) => total + names.reduce((all, name) => all + (row[name] ?? 0), 0), 0);
    const tokens = sum("input_tokens", "output_tokens");
    answers.set(path, {
      requests: sum("requests"),
      tokens,
      costUsd: round(path.startsWith("/costs") ? sum("total_cost") : sum("cost_usd")),
    });
  }
  return answers;
}

const round = (usd: number): number => Math.round(usd * 1e9) / 1e9;

/** The whole gateway's summary and the sum of its tenants: rows without a tenant have neither tokens nor cost. */
async function summaries(gateway: Gateway, sinceMs: number): Promise<readonly Told[]> {
  const summary = await gateway.must<{ readonly tokens: number; readonly cost: number }>(
    "GET",
    `/overview/summary?since_ms=${sinceMs}`,
  );
  const usage = await gateway.must<readonly Readonly<Record<string, number>>[]>("GET", `/usage?since_ms=${sinceMs}`);
  const sum = (name: string): number => usage.reduce((total, row) => total + (row[name] ?? 0), 0);
  return [
    { requests: 0, tokens: summary.tokens, costUsd: round(summary.cost) },
    { requests: 0, tokens: sum("total_tokens"), costUsd: round(sum("cost_usd")) },
  ];
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
  const old = Array.from({ length: OLD_ROWS }, (_, at) =>
    oldRow(key, model, today - (3 + (at % 3)) * DAY_MS + at * 1000),
  );
  await insert(clickhouse, old);
  const before = await told(gateway, key.tenant.id, sinceMs);
  await gateway.must("PUT", "/settings/usage-retention", { days: 1 });
  await gateway.must("POST", "/usage/compact");
  await insert(clickhouse, [oldRow(key, model, today - 4 * DAY_MS + 3_600_000)]);
  const after = await told(gateway, key.tenant.id, sinceMs);
  const list = await readRows(gateway, sinceMs);
  const own = list.filter((row) => row["tenant_id"] === key.tenant.id);
  const totals = await gateway.must<Readonly<Record<string, number>>>(
    "GET",
    `/usage/logs/totals?tenant_id=${key.tenant.id}&since_ms=${sinceMs}`,
  );
  const [summary, usage] = await summaries(gateway, sinceMs);
  const expected = after.get(
    `/usage/daily?tenant_id=${key.tenant.id}&start_day=${new Date(sinceMs).toISOString().slice(0, 10)}`,
  );
  return [
    ...agreement("before a prune", before, before.values().next().value),
    ...agreement("after a prune and a late row", after, expected),
    ...(totals["requests"] === own.length
      ? []
      : [{ what: "retention: /usage/logs/totals is not the sum of the log", expected: own.length, found: totals }]),
    ...(JSON.stringify(summary) === JSON.stringify(usage)
      ? []
      : [{ what: "retention: /overview/summary and /usage differ", expected: usage, found: summary }]),
  ];
}

function agreement(
  when: string,
  answers: ReadonlyMap<string, Told>,
  expected: Told | undefined,
): readonly Difference[] {
  return [...answers].flatMap(([path, found]) =>
    JSON.stringify(found) === JSON.stringify(expected)
      ? []
      : [{ what: `retention: ${path.replace(/\?.*/, "")} ${when}`, expected, found, more: `GET ${path}` }],
  );
}

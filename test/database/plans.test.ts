/**
 * Lists with 10,000 tenants and 50,000 keys: what a page reads is limited by the page, not by the table, whatever page it
 * is. The test explains the verbs' own statements and reads the server's plans.
 */
import { drizzle } from "drizzle-orm/node-postgres";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listAudit } from "../../control/audit/list-audit.ts";
import type { Database } from "../../control/db/connect.ts";
import { listGroups } from "../../control/fairshare/list-groups.ts";
import type { Page, VerbContext } from "../../control/kernel/context.ts";
import { listAllKeys } from "../../control/keys/list-all-keys.ts";
import { listKeys } from "../../control/keys/list-keys.ts";
import { listEndpoints } from "../../control/models/endpoints/list-endpoints.ts";
import { listModels } from "../../control/models/read-models.ts";
import { listTenants } from "../../control/tenants/read-tenants.ts";
import { startControl, type TestControl } from "../harness/control.ts";

const TENANTS = 10_000;
const KEYS_EACH = 5;
const LIMIT = 100;
/** The most rows that a page of {@link LIMIT} may read in all, in a few tables. */
const ROWS_MAX = 10 * LIMIT;

let control: TestControl;
let pool: pg.Pool;
let ctx: VerbContext;
let statements: { readonly query: string; readonly params: unknown[] }[] = [];

beforeAll(async () => {
  // A resync writes 50,000 copies, and a busy machine takes more than a second for a batch of them.
  control = await startControl({ answerWithinMs: 20_000 });
  pool = new pg.Pool({ connectionString: control.places.databaseUrl, max: 2 });
  const logger = { logQuery: (query: string, params: unknown[]) => void statements.push({ query, params }) };
  ctx = { ...control.ctx, db: drizzle(pool, { logger }) as unknown as Database };
  await fill();
});
afterAll(async () => {
  await pool.end();
  await control.close();
});

async function fill(): Promise<void> {
  for (const statement of [
    `INSERT INTO tenants (name, rev, created_at) SELECT 'tenant-' || n, nextval('config_rev'), now() - n * interval '1 second'
       FROM generate_series(1, ${TENANTS}) AS n`,
    `INSERT INTO api_keys (tenant_id, name, key_prefix, key_hash, disabled, rev, created_at)
       SELECT t.id, 'key-' || k, 'sk_' || left(md5(t.name || k), 15), md5(t.name || k) || md5(k || t.name), k = 1 AND t.name LIKE '%99',
              nextval('config_rev'), t.created_at + k * interval '1 millisecond'
       FROM tenants AS t, generate_series(1, ${KEYS_EACH}) AS k`,
    `INSERT INTO models (model_name, upstream_model, rev) SELECT 'model-' || n, 'u', nextval('config_rev') FROM generate_series(1, 5000) AS n`,
    `INSERT INTO model_health (model_id) SELECT id FROM models`,
    `INSERT INTO model_endpoints (model_id, name, api_base, priority, rev)
       SELECT id, 'endpoint-' || n, 'http://127.0.0.1/v1', n, 1 FROM models, generate_series(1, 4) AS n`,
    `INSERT INTO managed_models (model_id, enabled, partition, gres, nodes, image, preamble, log_output_dir, launch_command, script_body,
         serving_port, health_path, target_replicas, min_replicas, max_job_failures, launcher_spec)
       SELECT id, true, 'gpu', 'gpu:1', 1, '', '', '', '', '', 8000, '/', 2, 1, 3, '{}' FROM models`,
    `INSERT INTO model_replicas (model_id, model_name, intent_id, state)
       SELECT id, model_name, gen_random_uuid(), 'healthy' FROM models, generate_series(1, 2)`,
    `INSERT INTO fairshare_groups (name, weight, rev) SELECT 'group-' || n, 1, 1 FROM generate_series(1, 5000) AS n`,
    `INSERT INTO audit_log (ts, actor, action, entity_type, entity_id)
       SELECT now() - n * interval '1 second', 'actor-' || n % 50, (array['update_key', 'create_key', 'delete_key'])[1 + n % 3], 'api_key', n % 1000
       FROM generate_series(1, 100000) AS n`,
    "ANALYZE",
  ])
    await pool.query(statement);
}

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/**
 * The rows that a statement's scans read, including those that they discarded, and the tables that it read from end to end.
 */
async function cost({ query, params }: (typeof statements)[number]): Promise<{ rows: number; whole: string[] }> {
  const { rows } = await pool.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${query}`,
    params,
  );
  const nodes = nodesOf(rows[0]?.["QUERY PLAN"][0].Plan as Plan);
  const scans = nodes.filter((node) => node["Relation Name"] !== undefined);
  return {
    rows: scans.reduce(
      (sum, node) => sum + (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"],
      0,
    ),
    whole: nodes.filter((node) => node["Node Type"] === "Seq Scan").map((node) => node["Relation Name"] ?? ""),
  };
}

type List = (query: Record<string, string>) => Promise<Page<unknown>>;

/** What the statements of one page read, and the cursor of the next page. */
async function pageCost(
  list: List,
  query: Record<string, string>,
): Promise<{ rows: number; whole: string[]; next: string | null }> {
  statements = [];
  const { next } = await list({ limit: String(LIMIT), ...query });
  const costs = [];
  for (const statement of statements) costs.push(await cost(statement));
  return {
    rows: costs.reduce((sum, each) => sum + each.rows, 0),
    whole: costs.flatMap((each) => each.whole),
    next,
  };
}

async function idOf(table: string): Promise<string> {
  return (await pool.query<{ id: string }>(`SELECT id FROM ${table} LIMIT 1`)).rows[0]?.id ?? "";
}

describe("a page of a list", () => {
  it.each<[string, (id: (table: string) => Promise<string>) => Promise<List>, Record<string, string>]>([
    ["tenants", async () => async (query) => await listTenants(ctx, query), {}],
    ["all keys", async () => async (query) => await listAllKeys(ctx, query), {}],
    ["disabled keys", async () => async (query) => await listAllKeys(ctx, query), { disabled: "true" }],
    ["enabled keys", async () => async (query) => await listAllKeys(ctx, query), { disabled: "false" }],
    ["keys by a part of their name", async () => async (query) => await listAllKeys(ctx, query), { q: "KEY-3" }],
    [
      "keys of a tenant",
      async (id) => {
        const tenant = await id("tenants");
        return async (query) => await listKeys(ctx, tenant, query);
      },
      {},
    ],
    [
      "all keys, of a tenant",
      async (id) => {
        const tenant_id = await id("tenants");
        return async (query) => await listAllKeys(ctx, { ...query, tenant_id });
      },
      {},
    ],
    ["models", async () => async (query) => await listModels(ctx, query), {}],
    [
      "endpoints",
      async (id) => {
        const model = await id("models");
        return async (query) => await listEndpoints(ctx, model, query);
      },
      {},
    ],
    ["groups", async () => async (query) => await listGroups(ctx, query), {}],
    ["audit", async () => async (query) => await listAudit(ctx, query), {}],
    ["audit of an actor", async () => async (query) => await listAudit(ctx, query), { actor: "actor-7" }],
    ["audit of an action", async () => async (query) => await listAudit(ctx, query), { action: "delete_key" }],
    [
      "audit of an entity",
      async () => async (query) => await listAudit(ctx, query),
      { entity_type: "api_key", entity_id: "7" },
    ],
  ])("of %s reads about as much as it shows, the twentieth like the first", async (_name, listOf, query) => {
    const list = await listOf(idOf);
    let cursor: string | null = null;
    for (let page = 1; page <= 20; page += 1) {
      const { rows, whole, next } = await pageCost(list, { ...query, ...(cursor === null ? {} : { cursor }) });
      expect({ page, whole }).toEqual({ page, whole: [] });
      expect(rows).toBeLessThanOrEqual(ROWS_MAX);
      if (next === null) return;
      cursor = next;
    }
  });
});

describe("at that size", () => {
  it("a change of one tenant publishes only its keys", async () => {
    const { rows } = await pool.query<{ id: string }>("SELECT id FROM tenants WHERE name = 'tenant-5000'");
    const begun = await pool.query<{ n: number }>("SELECT count(*)::int AS n FROM outbox");
    const path = `/api/v1/tenants/${rows[0]?.id ?? ""}/weight`;
    expect((await control.request("PATCH", path, { weight: 7 })).status).toBe(200);
    const copies: string[] = [];
    for await (const names of control.store.scan("key:*")) copies.push(...names);
    const after = await pool.query<{ n: number }>("SELECT count(*)::int AS n FROM outbox");
    expect({ copyCount: copies.length, outboxRows: (after.rows[0]?.n ?? 0) - (begun.rows[0]?.n ?? 0) }).toEqual({
      copyCount: KEYS_EACH,
      outboxRows: KEYS_EACH + 1,
    });
  });

  it("a resync writes every key", async () => {
    expect(await control.resync.all()).toMatchObject({ keys: TENANTS * KEYS_EACH, removed: 0 });
    let copies = 0;
    for await (const names of control.store.scan("key:*")) copies += names.length;
    expect(copies).toBe(TENANTS * KEYS_EACH);
  });
});

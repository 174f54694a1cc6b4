/**
 * Control services that start together on an empty database, as processes: they migrate once, serve what the other one
 * writes, and need nothing of a session that a transaction pooler would lose.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { newDatabase } from "../harness/control-database.ts";
import { type Pooler, startPooler } from "../harness/pooler.ts";

const REPLICAS = 3;
const POOLED_CONNECTIONS = 4;
const TOKEN = "token";

let pooler: Pooler;
let store: Awaited<ReturnType<typeof startRedisBridge>>;
const children: ChildProcess[] = [];

beforeAll(async () => {
  pooler = await startPooler(inject("databaseServer"), POOLED_CONNECTIONS);
  store = await startRedisBridge({ backend: memoryBackend(), token: TOKEN });
});
afterAll(async () => {
  for (const child of children) {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  await pooler.close();
  await store.close();
});

/** A replica's address and what it logged before it listened. */
async function start(databaseUrl: string): Promise<{ admin: string; migrated: readonly string[] }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "../../control/main.ts")], {
    env: {
      GATEWAY_ADMIN_TOKEN: TOKEN,
      GATEWAY_ADMIN_LISTEN: "127.0.0.1:0",
      GATEWAY_METRICS_LISTEN: "127.0.0.1:0",
      GATEWAY_DATABASE_URL: databaseUrl,
      GATEWAY_REDIS_URL: store.url,
      GATEWAY_REDIS_TOKEN: TOKEN,
      GATEWAY_CLICKHOUSE_URL: "http://127.0.0.1:9",
      GATEWAY_EDGE_BASE_URL: "http://127.0.0.1:9",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  const log: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => log.push(line));
  const line = once(createInterface({ input: child.stdout }), "line").then(([text]) => String(text));
  const ended = once(child, "exit").then(() => Promise.reject(new Error(`ended instead of listening: ${log.at(-1)}`)));
  const { admin } = JSON.parse(await Promise.race([line, ended])) as { admin: string };
  const migrated = log
    .map((text) => JSON.parse(text) as { event: string; applied?: string[] })
    .flatMap((entry) => (entry.event === "migrated" ? (entry.applied ?? []) : []));
  return { admin, migrated };
}

async function request(admin: string, method: string, path: string, body?: object): Promise<Response> {
  return await fetch(`${admin}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

describe.each(["directly", "behind a transaction pooler"])("replicas that start at once, %s", (how) => {
  it("migrate once, and serve what the others write", async () => {
    const database = new URL(await newDatabase());
    const direct = database.href;
    if (how !== "directly") database.port = String(pooler.port);
    const replicas = await Promise.all(Array.from({ length: REPLICAS }, async () => await start(database.href)));

    const applied = replicas.flatMap((replica) => replica.migrated);
    expect(new Set(applied).size).toBe(applied.length);
    expect(replicas.filter((replica) => replica.migrated.length > 0)).toHaveLength(1);
    const client = new pg.Client({ connectionString: direct });
    await client.connect();
    const { rows } = await client.query<{ name: string }>("SELECT name FROM schema_migrations ORDER BY version");
    await client.end();
    expect(rows.map((row) => row.name)).toEqual(applied);

    const names = Array.from({ length: 24 }, (_, at) => `tenant-${at}`);
    const created = await Promise.all(
      names.map(async (name, at) => {
        const { admin } = replicas[at % REPLICAS] ?? expect.fail();
        return (await request(admin, "POST", "/api/v1/tenants", { name })).status;
      }),
    );
    expect(new Set(created)).toEqual(new Set([200]));
    for (const { admin } of replicas) {
      const listed = (await (await request(admin, "GET", "/api/v1/tenants")).json()) as { name: string }[];
      expect(listed.map((tenant) => tenant.name).sort()).toEqual([...names].sort());
    }
    if (how !== "directly") expect(pooler.switches()).toBeGreaterThan(REPLICAS);
  });
});

/**
 * Control services that start together on an empty database, as processes: they migrate once, each serves what the other
 * writes, and they use no session state that a transaction pooler would lose.
 */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { newDatabase } from "../harness/control-database.ts";
import { type ControlProcess, PROCESS_TOKEN, startControlProcess } from "../harness/control-process.ts";
import { type Pooler, startPooler } from "../harness/pooler.ts";
import { waitFor } from "../harness/wait-for.ts";

const REPLICAS = 3;
const POOLED_CONNECTIONS = 4;

let pooler: Pooler;
let store: Awaited<ReturnType<typeof startRedisBridge>>;
const started: ControlProcess[] = [];

beforeAll(async () => {
  pooler = await startPooler(inject("databaseServer"), POOLED_CONNECTIONS);
  store = await startRedisBridge({ backend: memoryBackend(), token: PROCESS_TOKEN });
});
afterAll(async () => {
  for (const replica of started) await replica.end();
  await pooler.close();
  await store.close();
});

async function start(databaseUrl: string): Promise<ControlProcess> {
  const replica = await startControlProcess({ databaseUrl, storeUrl: store.url });
  started.push(replica);
  return replica;
}

const migratedBy = (replica: ControlProcess): readonly string[] =>
  replica.log.flatMap((entry) => (entry["event"] === "migrated" ? (entry["applied"] as string[]) : []));

/** How often the replica has run the jobs that run on one replica only. */
const takings = (replica: ControlProcess): number =>
  replica.log.filter((entry) => entry["event"] === "jobs_taken").length;

/** One replica runs the jobs; when it is killed, another one runs them. */
async function jobsMoveOn(replicas: readonly ControlProcess[]): Promise<void> {
  const holders = () => replicas.filter((replica) => takings(replica) > 0);
  await waitFor(holders, (found) => found.length > 0);
  const [first] = holders();
  expect(holders()).toEqual([first]);
  await first?.end();
  await waitFor(holders, (found) => found.length > 1);
  expect(holders()).toHaveLength(2);
}

describe.each(["directly", "behind a transaction pooler"])("replicas that start at once, %s", (how) => {
  it("migrate once, and serve what the others write", async () => {
    const database = new URL(await newDatabase());
    const direct = database.href;
    if (how !== "directly") database.port = String(pooler.port);
    const replicas = await Promise.all(Array.from({ length: REPLICAS }, async () => await start(database.href)));

    // Its log has another way to here than what it says when it listens.
    const applied = await waitFor(
      () => replicas.flatMap(migratedBy),
      (names) => names.length > 0,
    );
    expect(replicas.filter((replica) => migratedBy(replica).length > 0)).toHaveLength(1);
    const client = new pg.Client({ connectionString: direct });
    await client.connect();
    const { rows } = await client.query<{ name: string }>("SELECT name FROM schema_migrations ORDER BY version");
    await client.end();
    expect(rows.map((row) => row.name)).toEqual(applied);

    const names = Array.from({ length: 24 }, (_, at) => `tenant-${at}`);
    const created = await Promise.all(
      names.map(
        async (name, at) => (await replicas[at % REPLICAS]?.request("POST", "/api/v1/tenants", { name }))?.status,
      ),
    );
    expect(new Set(created)).toEqual(new Set([200]));
    for (const replica of replicas) {
      const listed = (await (await replica.request("GET", "/api/v1/tenants")).json()) as { name: string }[];
      expect(listed.map((tenant) => tenant.name).sort()).toEqual([...names].sort());
    }
    if (how === "directly") return;
    expect(pooler.switches()).toBeGreaterThan(REPLICAS);
    await jobsMoveOn(replicas);
  });
});

/**
 * Control services on one database, as processes, that are to back up into one bucket: one of them does, another continues when it
 * is killed, and what they store can be restored.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { placeNamed } from "../../control/backup/backup-env.ts";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { bucketOptions, startBucketServer } from "../cluster/bucket-server.ts";
import { newDatabase } from "../harness/control-database.ts";
import { type ControlProcess, PROCESS_TOKEN, startControlProcess } from "../harness/control-process.ts";
import { waitFor } from "../harness/wait-for.ts";

const CLI = join(import.meta.dirname, "../../control/cli/main.ts");
const TO = "s3://backups/gateway";

let bucket: Awaited<ReturnType<typeof startBucketServer>>;
let store: Awaited<ReturnType<typeof startRedisBridge>>;
let databaseUrl: string;
const replicas: ControlProcess[] = [];

const start = async (more: Readonly<Record<string, string>>): Promise<ControlProcess> => {
  const replica = await startControlProcess({ databaseUrl, storeUrl: store.url, more });
  replicas.push(replica);
  return replica;
};
const names = async (): Promise<readonly string[]> =>
  (await placeNamed(TO, bucketOptions(bucket.url)).names(new AbortController().signal)).toSorted();
const storedBy = ({ log }: ControlProcess): number => log().filter((line) => line["event"] === "backup_stored").length;
/** How many backups these say that they have stored, once one does: a backup is at its place before it is verified and logged. */
const storedOnce = async (some: readonly ControlProcess[]): Promise<number> =>
  await waitFor(
    () => some.map(storedBy).reduce((a, b) => a + b),
    (count) => count > 0,
  );

beforeAll(async () => {
  bucket = await startBucketServer();
  store = await startRedisBridge({ backend: memoryBackend(), token: PROCESS_TOKEN });
  databaseUrl = await newDatabase();
});
afterAll(async () => {
  for (const replica of replicas) await replica.end();
  await store.close();
  await bucket.close();
});

it("are made by one of several, continue after a kill, and restore a key that works", async () => {
  const writer = await start({});
  const tenant = (await (await writer.request("POST", "/api/v1/tenants", { name: "kept" })).json()) as Tenant;
  const answer = await writer.request("POST", `/api/v1/tenants/${tenant.id}/keys`, {});
  const { secret } = (await answer.json()) as CreatedKey;
  await writer.end();
  const schedule = {
    GATEWAY_BACKUP_TO: TO,
    GATEWAY_BACKUP_OPTIONS: bucketOptions(bucket.url),
    GATEWAY_BACKUP_KEEP: "2",
  };
  const three = await Promise.all([1, 2, 3].map(async () => await start(schedule)));
  expect(await storedOnce(three)).toBe(1);
  const first = await names();
  expect(first).toHaveLength(1);
  for (const { metrics } of three) {
    const text = await (await fetch(`${metrics}/metrics`)).text();
    const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    expect(value("gateway_backup_interval_seconds")).toBe(86_400);
    expect(value("gateway_backup_last_success_timestamp_seconds")).toBeGreaterThan(1_700_000_000);
  }

  const [holder] = three.filter((replica) => storedBy(replica) === 1);
  await holder?.end();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query("UPDATE backup_schedule SET last_ok_at = last_ok_at - interval '1 day'");
  await client.end();
  expect(await storedOnce(three.filter((replica) => replica !== holder))).toBe(1);
  const both = await names();
  expect(both).toHaveLength(2);
  expect(both).toContain(first[0]);

  const drill = promisify(execFile)(process.execPath, [CLI, "drill", TO, "--key", "--json"], {
    env: { GATEWAY_BACKUP_OPTIONS: schedule.GATEWAY_BACKUP_OPTIONS },
  });
  drill.child.stdin?.end(secret);
  expect(JSON.parse((await drill).stdout)).toMatchObject({
    file: `${TO}/${both[1]}`,
    key: "authenticates",
    rows: { tenants: 1, api_keys: 1 },
    problems: [],
  });
});

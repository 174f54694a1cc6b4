/**
 * Each part of the gateway is killed at random lines while a batch runs: every line has one result, no settled line is paid for
 * twice, and all slots come back (docs/rules/batches.md#exactly-once). The seed is in the title; BATCH_FAULTS_SEED repeats it.
 *
 * @module-tag long
 */
import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { type BucketServer, bucketOptions, type StoredObject, startBucketServer } from "../cluster/bucket-server.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { type KillableStore, STORE_TOKEN, startKillableStore } from "../harness/killable-store.ts";
import { type Postgres, startPostgres } from "../harness/postgres.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const LINES = 120;
const SLOTS = 8;
const SEED = Number(process.env["BATCH_FAULTS_SEED"] ?? Math.trunc(Math.random() * 2 ** 31));
/**
 * A part is killed when so many calls have come to the upstream; after the last one the results are written. Two cases kill the same
 * part, which is given up after the sixth death within a minute.
 */
const MOMENTS = fc.uniqueArray(fc.integer({ min: 1, max: LINES }), { minLength: 2, maxLength: 2 });

let stack: Stack;
let gateway: Gateway;
let upstream: TestUpstream;
let postgres: Postgres;
let keyStore: KillableStore;
let bucket: BucketServer;
const objects = new Map<string, StoredObject>();

beforeAll(async () => {
  [postgres, keyStore, upstream, bucket] = await Promise.all([
    startPostgres(),
    startKillableStore(),
    startTestUpstream(),
    startBucketServer({ objects }),
  ]);
  // Servers of tests may lose what they committed last, for speed; a batch relies on it.
  const client = new pg.Client({ connectionString: postgres.url("postgres") });
  await client.connect();
  await client.query("ALTER DATABASE postgres SET synchronous_commit = on");
  await client.end();
  stack = await startTestStack({
    GATEWAY_DATABASE_URL: postgres.url("postgres"),
    GATEWAY_REDIS_URL: keyStore.url,
    GATEWAY_REDIS_TOKEN: STORE_TOKEN,
    GATEWAY_FILES_TO: "s3://gateway/files",
    GATEWAY_FILES_OPTIONS: bucketOptions(bucket.url),
    GATEWAY_WORKERS: "3",
  });
  gateway = new Gateway(stack);
});
afterAll(async () => {
  await stack.stop();
  await Promise.all([postgres.stop(), keyStore.stop(), upstream.close(), bucket.close()]);
});

/** Kills a part that the launcher supervises; resolves when it runs again. */
async function kill(part: string): Promise<void> {
  const pid = stack.parts.get(part)?.pid as number;
  process.kill(pid, "SIGKILL");
  await startedAgain(stack.parts.get(part), pid);
}

/** Cuts the connections of the bucket and begins again, with what was stored. */
async function restartBucket(): Promise<void> {
  const { port } = new URL(bucket.url);
  await bucket.close();
  bucket = await startBucketServer({ objects, port: Number(port) });
}

interface BatchAnswer {
  readonly id: string;
  readonly status: string;
  readonly output_file_id: string | null;
  readonly request_counts: Readonly<Record<string, number>>;
}

async function asked(minted: Minted, method: string, path: string, body?: FormData | string): Promise<Response> {
  const headers = { authorization: `Bearer ${minted.secret}` };
  return await fetch(`${gateway.proxyUrl}/v1${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
}

async function startBatch(minted: Minted): Promise<BatchAnswer> {
  const lines = Array.from({ length: LINES }, (_, at) => ({
    custom_id: `line-${at}`,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model: minted.model.model_name, messages: [{ role: "user", content: `${minted.mark} ${at}` }] },
  }));
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new Blob([lines.map((line) => JSON.stringify(line)).join("\n")]), "in.jsonl");
  const file = (await (await asked(minted, "POST", "/files", form)).json()) as { readonly id: string };
  const made = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" };
  return (await (await asked(minted, "POST", "/batches", JSON.stringify(made))).json()) as BatchAnswer;
}

describe("a batch whose lines are under way", () => {
  it.each(
    [
      { part: "control", how: async () => await kill("control") },
      { part: "control, as large answers come", how: async () => await kill("control"), says: "mb=0.125" },
      { part: "the store, emptied", how: async () => await keyStore.crash() },
      { part: "PostgreSQL", how: async () => await postgres.crash() },
      { part: "the bucket", how: restartBucket },
      { part: "a Worker", how: async () => await kill("worker-1"), callsAgain: true },
      { part: "the objects", how: async () => await kill("workerd"), callsAgain: true, losesRows: true },
    ].map((fault, at) => ({ ...fault, seed: SEED + at })),
  )("loses and doubles no line, and gives its slots back: $part, seed $seed", async ({ how, seed, ...after }) => {
    const { callsAgain = false, losesRows = false, says = "" } = after;
    const moments = (fc.sample(MOMENTS, { seed, numRuns: 1 })[0] ?? []).toSorted((one, other) => one - other);
    const minted = await gateway.mint(upstream.url, `delay=250,${says}`, { max_in_flight: SLOTS });
    const { id } = await startBatch(minted);
    for (const calls of moments) {
      await waitFor(
        () => upstream.seen(minted.mark).length,
        (seen) => seen >= calls,
      );
      await how();
    }
    const batch = await waitFor(
      async () => {
        const response = await asked(minted, "GET", `/batches/${id}`).catch(() => null);
        return response?.ok === true ? ((await response.json()) as BatchAnswer) : null;
      },
      (read) => read?.status === "completed",
    );
    expect(batch?.request_counts).toEqual({ total: LINES, completed: LINES, failed: 0 });
    const output = await (await asked(minted, "GET", `/files/${batch?.output_file_id}/content`)).text();
    const results = output
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { custom_id: string; response: { request_id: string; status_code: number } });
    expect(results.map(({ custom_id }) => custom_id)).toEqual(Array.from({ length: LINES }, (_, at) => `line-${at}`));
    expect(results.every(({ response }) => response.status_code === 200)).toBe(true);
    const ids = new Set(results.map(({ response }) => response.request_id));
    expect(ids.size).toBe(LINES);
    await waitFor(
      async () => await gateway.loadOf(minted.model.model_name),
      ({ inFlight, queued }) => inFlight === 0 && queued === 0,
    );
    // Objects that are killed may lose rows that they have had for less than a second.
    const rows = await waitFor(
      async () => await gateway.allRows(minted.tenant.id),
      (found) => losesRows || found.filter(({ request_id }) => ids.has(request_id)).length === LINES,
    );
    const settled = rows.filter(({ status_code }) => status_code === 200);
    expect(settled.every(({ request_id }) => ids.has(request_id))).toBe(true);
    expect(new Set(rows.map(({ request_id }) => request_id)).size).toBe(rows.length);
    // Calls continue when other parts have gone: none is made again.
    if (!callsAgain) expect(upstream.seen(minted.mark)).toHaveLength(LINES);
  });
});

it("files and batches are unavailable without the control service", async () => {
  const minted = await gateway.mint(upstream.url);
  const part = stack.parts.get("control");
  const pid = part?.pid as number;
  process.kill(pid, "SIGKILL");
  const response = await asked(minted, "GET", "/batches");
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 503,
    body: { error: { code: "files_unavailable" } },
  });
  await startedAgain(part, pid);
});

/**
 * Realtime sessions while a part of the gateway is killed (docs/rules/realtime.md#slot-and-rows): sessions of other processes go
 * on, every response and every session has its row once, and all slots come back.
 *
 * @module-tag long
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { Gateway } from "../harness/gateway.ts";
import { type KillableStore, STORE_TOKEN, startKillableStore } from "../harness/killable-store.ts";
import { type Postgres, startPostgres } from "../harness/postgres.ts";
import { openRealtime, type RealtimeClient } from "../harness/realtime-client.ts";
import { startRealtimeUpstream } from "../harness/realtime-upstream.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const WORKERS = 3;
const EACH = 2;
/** What is reported of a response that its client cancels, at the prices of a minted model. */
const REPORTED = { status: 200, tokens: 30 };

const upstream = useStarted(startRealtimeUpstream);
const chat = useStarted(startTestUpstream);
let store: KillableStore;
let postgres: Postgres;
let stack: Stack;
let gateway: Gateway;

beforeAll(async () => {
  [store, postgres] = await Promise.all([startKillableStore(), startPostgres()]);
  stack = await startTestStack({
    GATEWAY_WORKERS: String(WORKERS),
    GATEWAY_REDIS_URL: store.url,
    GATEWAY_REDIS_TOKEN: STORE_TOKEN,
    GATEWAY_DATABASE_URL: postgres.url("postgres"),
  });
  gateway = new Gateway(stack);
});
afterAll(async () => {
  await stack.stop();
  await Promise.all([store.stop(), postgres.stop()]);
});

/** Kills a part, or a server of the stores; resolves when it runs again. */
async function kill(part: string): Promise<void> {
  if (part === "redis") return await store.crash();
  if (part === "postgres") return await postgres.crash();
  const pid = stack.parts.get(part)?.pid as number;
  process.kill(pid, "SIGKILL");
  await startedAgain(stack.parts.get(part), pid);
}

const CASES = [
  ["one of three Worker processes", "worker-1", 1],
  ["the object process", "workerd", 0],
  ["the control service", "control", 0],
  ["the key-value store", "redis", 0],
  ["the PostgreSQL server", "postgres", 0],
  ["the ClickHouse server", "clickhouse", 0],
] as const;

/** Has the nth response begun. */
async function begin(client: RealtimeClient, nth: number): Promise<void> {
  client.send({ type: "response.create" });
  await client.got("response.output_text.delta", nth * 3);
}

async function finish(client: RealtimeClient, nth: number): Promise<void> {
  client.send({ type: "response.cancel" });
  await client.got("response.done", nth);
}

it.each(CASES)("kill -9 of %s: rows are right and slots come back", async (name, part, lostWorkers) => {
  const lostCount = EACH * lostWorkers;
  const minted = await gateway.mint(upstream().url, `hold,part=${part}`);
  const rowsOf = async () =>
    (await gateway.allRows(minted.tenant.id)).map((row) => ({
      id: row.request_id,
      status: row.status_code,
      tokens: row.total_tokens,
    }));
  const urls = stack.runtimeUrls();
  const clients = await Promise.all(
    Array.from(
      { length: EACH * urls.length },
      async (_, at) => await openRealtime(urls[at % urls.length] ?? "", minted),
    ),
  );
  for (const nth of [1, 2]) {
    await Promise.all(clients.map(async (client) => await begin(client, nth)));
    await Promise.all(clients.map(async (client) => await finish(client, nth)));
  }
  await waitFor(rowsOf, (rows) => rows.length === 2 * clients.length);
  await Promise.all(clients.map(async (client) => await begin(client, 3)));

  await kill(part);
  await waitFor(
    () => clients.filter(({ closed }) => closed !== null).length,
    (closed) => closed === lostCount,
  );
  const living = clients.filter(({ closed }) => closed === null);
  await Promise.all(living.map(async (client) => await finish(client, 3)));
  // A Cell that has begun again takes new requests once it has heard of the running ones.
  await Promise.all(living.map(async (client) => await begin(client, 4)));
  await Promise.all(living.map(async (client) => await finish(client, 4)));
  for (const { socket } of living) socket.close();

  const expected = 5 * living.length + 4 * lostCount;
  const rows = await waitFor(rowsOf, (found) => found.length >= expected);
  const count = (status: number): number => rows.filter((row) => row.status === status).length;
  expect({
    name,
    rows: new Set(rows.map(({ id }) => id)).size,
    reported: rows.filter(({ status, tokens }) => status === REPORTED.status && tokens === REPORTED.tokens).length,
    sessions: count(101),
    lost: count(499),
  }).toEqual({
    name,
    rows: expected,
    reported: 4 * living.length + 2 * lostCount,
    sessions: living.length,
    lost: 2 * lostCount,
  });
  await waitFor(
    async () => await gateway.loadOf(minted.model.model_name),
    ({ inFlight, queued }) => inFlight + queued === 0,
  );
});

it.each(CASES)("kill -9 of %s: WebSockets of Responses continue, each with its rows", async (name, part, lostCount) => {
  const minted = await gateway.mint(chat().url, "pace=150,chunks=12", { responses_api: "translated" });
  const clients = await Promise.all(
    stack.runtimeUrls().map(async (url) => await openRealtime(url, minted, { path: "/v1/responses" })),
  );
  const ask = { type: "response.create", model: minted.model.model_name, input: `hello ${minted.mark}` };
  for (const client of clients) client.send(ask);
  await Promise.all(clients.map(async (client) => await client.got("response.output_text.delta", 2)));
  await kill(part);
  await waitFor(
    () => clients.filter(({ closed }) => closed !== null).length,
    (closed) => closed === lostCount,
  );
  const living = clients.filter(({ closed }) => closed === null);
  const ended = ({ events }: RealtimeClient) =>
    events.filter(({ type }) => type === "response.completed" || type === "error").length;
  const answered = async (count: number) => {
    await waitFor(
      () => ({ living: living.map(ended), events: living[0]?.events.slice(-2) }),
      ({ living: counts }) => counts.every((seen) => seen >= count),
    );
  };
  await answered(1);
  for (const client of living) client.send(ask);
  await answered(2);
  for (const { socket } of living) socket.close();
  const rows = await waitFor(
    async () => await gateway.allRows(minted.tenant.id),
    (found) => found.length >= 2 * living.length + lostCount,
  );
  expect({
    name,
    completed: living.map((client) => client.of("response.completed").length),
    rows: new Set(rows.map(({ request_id: id }) => id)).size,
    answered: rows.filter(({ status_code: status, total_tokens: tokens }) => status === 200 && tokens === 33).length,
    lost: rows.filter(({ status_code: status }) => status === 499).length,
  }).toEqual({
    name,
    completed: living.map(() => 2),
    rows: 2 * living.length + lostCount,
    answered: 2 * living.length,
    lost: lostCount,
  });
  await waitFor(
    async () => await gateway.loadOf(minted.model.model_name),
    ({ inFlight, queued }) => inFlight + queued === 0,
  );
});

/**
 * No usage row is lost while the store fails: whatever the analytics store does under load, every completed request has
 * its row once, in the raw ledger and in the rollup, and rows are shipped in order
 * (docs/rules/settlement-and-rows.md#custody). Each fault has a cell of its own, so that all faults run at the same
 * time.
 *
 * @module-tag long
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startClickhouseBridge } from "../../infra/local/clickhouse/bridge.ts";
import { openEngine } from "../../infra/local/clickhouse/engine.ts";
import { listen } from "../../infra/local/http/listen.ts";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { account, type Ended, isPromised, startLoad } from "../harness/ledger-load.ts";
import { alertsIn } from "../harness/object-faults.ts";
import { FULL_CELL } from "../harness/small-ledger.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const CLIENTS = 4;
/** The least number of answers for each fault. */
const ENOUGH = 150;
/** The store refuses the rows of this session. */
const REFUSED_SESSION = "refused-by-the-store";

/** What inserts meet, and how often before the fault ends. The pauses between attempts grow from 1 s on. */
const FAULTS: Readonly<Record<string, readonly [fault: InsertFault, times: number, name: string]>> = {
  slow: ["slow", 1, "store: each insert takes 5 s"],
  errors: ["errors", 2, "store: answers errors"],
  cut: ["cut after commit", 2, "store: connection cut after the commit"],
  silent: ["no answer", 1, "store: never answers"],
  away: ["away", 3, "store: away"],
};

let folder: string;
let upstream: TestUpstream;
let store: FaultyStore;
let stack: Stack;
const lines: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gateway-custody-"));
  upstream = await startTestUpstream();
  store = await startFaultyStore(join(folder, "clickhouse"));
  const env = { GATEWAY_CLICKHOUSE_URL: store.url, GATEWAY_CLICKHOUSE_PASSWORD: store.password };
  stack = await startStack({
    env: stackEnv(join(folder, "data"), env),
    moreCells: [...Object.keys(FAULTS), "refusing", FULL_CELL],
    workerEntry: "test/objects/small-ledger/worker.ts",
    log: (line) => lines.push(line),
  });
  await store.run(`ALTER TABLE gateway.usage_raw ADD CONSTRAINT c CHECK session_id != '${REFUSED_SESSION}'`);
});
afterAll(async () => {
  await stack.stop();
  await store.close();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

const gatewayOf = (cell: string): Gateway => new Gateway({ ...stack, proxyUrl: stack.cellUrls.get(cell) ?? "" });

async function metricOf(name: string, cell: string): Promise<number> {
  const text = await (await fetch(`${stack.metricsUrl}/metrics`)).text();
  return Number(new RegExp(`^${name}\\{cell="${cell}"\\} (\\d+)$`, "m").exec(text)?.[1]);
}

async function underFault(cell: string): Promise<void> {
  const [fault, times, name] = FAULTS[cell] ?? ["none", 0, cell];
  const gateway = gatewayOf(cell);
  const minted = await gateway.mint(upstream.url, "delay=20");
  store.set(cell, fault);
  const load = startLoad(gateway, minted, CLIENTS);
  await load.more(ENOUGH);
  await waitFor(
    () => store.faults(cell),
    (met) => met >= times,
  );
  store.set(cell, "none");
  await load.stop();
  expect(load.others).toEqual(new Set());
  await account({ fault: name, gateway, minted, load });
}

/** The store refuses every tenth row of this load. */
async function refusedRows(): Promise<void> {
  const cell = "refusing";
  const gateway = gatewayOf(cell);
  const minted = await gateway.mint(upstream.url, "delay=20");
  const isRefused = (place: number): boolean => place % 10 === 0;
  const load = startLoad(gateway, minted, CLIENTS, (place) =>
    isRefused(place) ? { "x-gateway-session-id": REFUSED_SESSION } : {},
  );
  await load.more(ENOUGH);
  await load.stop();
  const refused = load.ended.filter(({ place }) => isRefused(place)).length;
  const deadLetters = await waitFor(
    async () => await metricOf("gateway_telemetry_aside", cell),
    (count) => count >= refused,
  );
  await account({
    fault: "store: refuses a tenth of the rows",
    gateway,
    minted,
    load,
    expected: ({ place }) => !isRefused(place),
    deadLetters,
  });
  expect(deadLetters).toBe(refused);
  expect(await alertOf(cell, "usage_rows_refused")).toMatchObject({ title: "Usage records refused" });
}

/**
 * The store is away for longer than the ledger has storage: rows that were taken arrive once, rows that were dropped are
 * counted.
 */
async function noRoom(): Promise<void> {
  const gateway = gatewayOf(FULL_CELL);
  const minted = await gateway.mint(upstream.url, "delay=20");
  store.set(FULL_CELL, "away");
  const load = startLoad(gateway, minted, CLIENTS);
  await load.more(ENOUGH);
  await load.stop();
  expect(load.others).toEqual(new Set());
  await waitFor(
    async () => await metricOf("gateway_telemetry_dropped", FULL_CELL),
    (dropped) => dropped > 0,
  );
  store.set(FULL_CELL, "none");
  // The rows of the last answers reach the ledger after the clients have their answers; only then is it known which rows
  // were dropped.
  const { rows, dropped } = await waitFor(
    async () => ({
      rows: new Set(await gateway.requestIds(minted.tenant.id)),
      dropped: await metricOf("gateway_telemetry_dropped", FULL_CELL),
      ended: load.ended.length,
    }),
    (found) => found.rows.size + found.dropped >= found.ended,
  );
  expect({ hasRows: rows.size > 0, accounted: rows.size + dropped }).toEqual({
    hasRows: true,
    accounted: load.ended.length,
  });
  const expected = ({ requestId }: Ended): boolean => rows.has(requestId);
  await account({ fault: "store: away, no room left", gateway, minted, load, expected, dropped });
  expect(await alertOf(FULL_CELL, "usage_spill_refused")).toMatchObject({ title: "Usage records are being lost" });
}

/** The first alert with this key that a cell raised, once the control service has reported it. */
async function alertOf(cell: string, key: string): Promise<unknown> {
  const alerts = await waitFor(
    () => alertsIn(lines).filter((alert) => alert["key"] === key && alert["cell"] === cell),
    (found) => found.length > 0,
  );
  return alerts[0];
}

/** The disk of a table is full. */
async function diskFull(table: "usage_raw" | "usage_daily", name: string): Promise<void> {
  const free = async (bytes: number): Promise<void> =>
    await store.run(`ALTER TABLE gateway.${table} MODIFY SETTING min_free_disk_bytes_to_perform_insert = ${bytes}`);
  const gateway = gatewayOf("local");
  const minted = await gateway.mint(upstream.url, "delay=20");
  const before = store.faults("local");
  await free(Number.MAX_SAFE_INTEGER);
  const load = startLoad(gateway, minted, CLIENTS);
  await load.more(ENOUGH);
  await waitFor(
    () => store.faults("local"),
    (met) => met > before,
  );
  await free(0);
  await load.stop();
  expect(load.others).toEqual(new Set());
  await account({ fault: name, gateway, minted, load });
}

it("each completed request has one row through any store fault; rows without room are counted", async () => {
  await Promise.all([...Object.keys(FAULTS).map(underFault), refusedRows(), noRoom()]);
});

it("each completed request has one row while the disk of the ledger or its rollup is full", async () => {
  await diskFull("usage_raw", "store: disk full");
  await diskFull("usage_daily", "store: disk full for the rollup only");
});

it("every promised row is there once when the runtime is killed while the store is down", async () => {
  const gateway = gatewayOf("local");
  const minted = await gateway.mint(upstream.url, "delay=20");
  store.set("local", "away");
  const load = startLoad(gateway, minted, CLIENTS);
  await load.promised(ENOUGH);
  const before = { pid: stack.parts.get("workerd")?.pid ?? 0, killedAt: Date.now() };
  process.kill(before.pid, "SIGKILL");
  await startedAgain(stack.parts.get("workerd"), before.pid);
  const backAt = Date.now();
  const met = store.faults("local");
  await waitFor(
    () => store.faults("local"),
    (now) => now > met,
  );
  store.set("local", "none");
  await load.more(ENOUGH);
  await load.stop();
  const expected = ({ atMs }: Ended): boolean => isPromised(atMs, before.killedAt, backAt);
  await account({ fault: "store: away, and kill -9 of the runtime", gateway, minted, load, expected });
});

it("rows were shipped in order", () => {
  for (const cell of [...Object.keys(FAULTS), "local"]) {
    const numbers = store.tokens
      .filter((token) => token.startsWith(`${cell}:`))
      .map((token) => /-(\d+)-(\d+)$/.exec(token)?.slice(1).map(Number) ?? []);
    const sorted = numbers.toSorted(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d);
    expect(numbers.length).toBeGreaterThan(0);
    expect(numbers).toEqual(sorted);
  }
});

type InsertFault = "none" | "slow" | "errors" | "cut after commit" | "no answer" | "away";

const PASSWORD = "secret";
const SLOW_MS = 5_000;

type FaultyStore = Awaited<ReturnType<typeof startFaultyStore>>;

/**
 * The real engine and the real bridge on a folder of their own, behind a proxy whose inserts fail as a test chooses, for each cell
 * separately. Reads always pass.
 */
async function startFaultyStore(folder: string) {
  const engine = openEngine(folder, 3);
  const bridge = await startClickhouseBridge({ engine, user: "default", password: PASSWORD });
  /** Deduplication tokens in the order in which they were first seen. */
  const tokens: string[] = [];
  const faultOf = new Map<string, InsertFault>();
  const met = new Map<string, number>();
  const silent = new Map<ServerResponse, string>();
  const count = (cell: string): void => void met.set(cell, (met.get(cell) ?? 0) + 1);
  const server = createServer((request, response) => void pass(request, response));

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const token = new URL(request.url ?? "/", "http://store").searchParams.get("insert_deduplication_token");
    if (token !== null && !tokens.includes(token)) tokens.push(token);
    const cell = token?.slice(0, token.indexOf(":")) ?? "";
    const fault = faultOf.get(cell) ?? "none";
    if (fault !== "none") count(cell);
    if (fault === "away") return void response.destroy();
    if (fault === "errors") return void response.writeHead(500).end("Code: 999. DB::Exception: told to fail");
    if (fault === "no answer") return void silent.set(response, cell);
    if (fault === "slow") await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    try {
      const answer = await fetch(`${bridge.url}${request.url ?? "/"}`, {
        method: request.method ?? "GET",
        headers: Object.fromEntries(
          Object.entries(request.headers).filter(([name]) => !["host", "connection", "content-length"].includes(name)),
        ) as Record<string, string>,
        body: chunks.length === 0 ? null : Buffer.concat(chunks),
      });
      const body = Buffer.from(await answer.arrayBuffer());
      if (token !== null && !answer.ok && fault === "none") count(cell);
      if (fault === "cut after commit") return void response.destroy();
      const headers = [...answer.headers].filter(
        ([name]) => !/^(content-encoding|content-length|transfer-|conn)/.test(name),
      );
      response.writeHead(answer.status, Object.fromEntries(headers)).end(body);
    } catch {
      response.destroy();
    }
  }

  const listening = await listen(server, "127.0.0.1", 0);
  return {
    url: listening.url,
    password: PASSWORD,
    /** Chooses the fault for the inserts of a cell from now on. Inserts that wait for an answer get none. */
    set: (cell: string, fault: InsertFault): void => {
      faultOf.set(cell, fault);
      for (const [response, whose] of silent) {
        if (whose !== cell) continue;
        silent.delete(response);
        response.destroy();
      }
    },
    /** Inserts of a cell that met a fault, or that the engine refused. */
    faults: (cell: string): number => met.get(cell) ?? 0,
    tokens: tokens as readonly string[],
    /** Runs a statement in the engine directly, without the faults. */
    run: async (statement: string): Promise<void> => {
      const answer = await fetch(bridge.url, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`default:${PASSWORD}`)}` },
        body: statement,
      });
      if (!answer.ok) throw new Error(await answer.text());
      await answer.body?.cancel();
    },
    close: async (): Promise<void> => {
      await listening.close();
      await bridge.close();
      await engine.close();
    },
  };
}

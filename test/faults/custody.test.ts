/**
 * No usage row is lost by kill -9: whatever part is killed under load, every answer that was promised has its row once
 * (docs/rules/settlement-and-rows.md#custody).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { type KillableStore, STORE_TOKEN, startKillableStore } from "../harness/killable-store.ts";
import { launchReady, processesOf } from "../harness/launched.ts";
import { account, type Ended, isPromised, startLoad } from "../harness/ledger-load.ts";
import { mainRows } from "../harness/main-rows.ts";
import { type Postgres, startPostgres } from "../harness/postgres.ts";
import { startedAgain } from "../harness/started-again.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const CLIENTS = 8;
/** The least number of answers before, and after, each kill. */
const ENOUGH = 100;

let upstream: TestUpstream;
let folder: string;

beforeAll(async () => {
  upstream = await startTestUpstream();
  folder = mkdtempSync(join(tmpdir(), "gateway-kills-"));
});
afterAll(async () => {
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("a part of the stack that is killed under load loses no row and doubles none", () => {
  let stack: Stack;
  let gateway: Gateway;
  let postgres: Postgres;
  let keyStore: KillableStore;

  beforeAll(async () => {
    [postgres, keyStore] = await Promise.all([startPostgres(), startKillableStore()]);
    const env = {
      GATEWAY_DATABASE_URL: postgres.url("postgres"),
      GATEWAY_REDIS_URL: keyStore.url,
      GATEWAY_REDIS_TOKEN: STORE_TOKEN,
    };
    stack = await startStack({ env: stackEnv(join(folder, "parts"), env) });
    gateway = new Gateway(stack);
  });
  afterAll(async () => {
    await stack.stop();
    await Promise.all([postgres.stop(), keyStore.stop()]);
  });

  /** Kills a part that the launcher supervises; resolves when the part is running again. */
  async function kill(part: string): Promise<void> {
    const pid = stack.parts.get(part)?.pid ?? 0;
    expect(pid).toBeGreaterThan(0);
    process.kill(pid, "SIGKILL");
    await startedAgain(stack.parts.get(part), pid);
  }

  mainRows(1)([
    ["analytics engine and bridge", async () => await kill("clickhouse")],
    ["control service", async () => await kill("control")],
    ["key-value store and bridge, emptied", async () => await keyStore.crash()],
    ["PostgreSQL", async () => await postgres.crash()],
  ])("unnoticed by clients: the %s", async (name, crash) => {
    const minted = await gateway.mint(upstream.url);
    const load = startLoad(gateway, minted, CLIENTS);
    await load.more(ENOUGH);
    await crash();
    await load.more(ENOUGH);
    await load.stop();
    expect(load.others).toEqual(new Set());
    await account({ fault: `kill -9: ${name}`, gateway, minted, load });
  });

  it("with its slots free: the runtime", async () => {
    const minted = await gateway.mint(upstream.url);
    const load = startLoad(gateway, minted, CLIENTS);
    await load.promised(ENOUGH);
    const killedAt = Date.now();
    await kill("workerd");
    const backAt = Date.now();
    await load.more(ENOUGH);
    await load.stop();
    const expected = ({ atMs }: Ended): boolean => isPromised(atMs, killedAt, backAt);
    await account({ fault: "kill -9: runtime", gateway, minted, load, expected });
    await waitFor(
      async () => await gateway.stats(),
      ({ in_flight, queued }) => in_flight === 0 && queued === 0,
    );
  });
});

describe("the whole stack", { tags: ["long"] }, () => {
  it("restarted after a kill under load has one row for every answer over a second old", async () => {
    const dataDir = join(folder, "whole");
    const first = await launchReady(dataDir);
    const gateway = new Gateway(first);
    const minted = await gateway.mint(upstream.url);
    const load = startLoad(gateway, minted, CLIENTS);
    await load.promised(ENOUGH);
    const killedAt = Date.now();
    await first.end("SIGKILL");
    await waitFor(
      async () => await processesOf(dataDir),
      (left) => left.length === 0,
    );
    await load.stop();

    const second = await launchReady(dataDir);
    const after = new Gateway(second);
    const last = await after.chat(minted);
    await last.text();
    await after.row(minted.tenant.id, last.headers.get("x-gateway-request-id"));
    const expected = ({ atMs }: Ended): boolean => isPromised(atMs, killedAt);
    await account({ fault: "kill -9: launcher and all its parts", gateway: after, minted, load, expected });
    expect(await second.end("SIGTERM")).toBe(0);
  });
});

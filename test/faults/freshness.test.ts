/** What a confirmed change promises through restarts and stalls of the data plane (design §5, decisions §2.6, §32.4). */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { busyClients, statusOf, verdictOn } from "../harness/busy-clients.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const backend = memoryBackend();
const dataDir = mkdtempSync(join(tmpdir(), "gateway-fresh-"));
let bridge: Awaited<ReturnType<typeof startRedisBridge>>;
let stack: Stack;
let upstream: TestUpstream;
let gateway: Gateway;

beforeAll(async () => {
  upstream = await startTestUpstream();
  bridge = await startRedisBridge({ backend, token: "token" });
  stack = await startStack({
    env: stackEnv(dataDir, { GATEWAY_REDIS_URL: bridge.url, GATEWAY_REDIS_TOKEN: "token" }),
  });
  gateway = new Gateway(stack);
});
afterAll(async () => {
  await stack.stop();
  await bridge.close();
  await upstream.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const runtime = (): number => stack.parts.get("workerd")?.pid ?? 0;

/** Kills the runtime, isolates and objects, and waits until it serves again. */
async function restart(): Promise<void> {
  const pid = runtime();
  process.kill(pid, "SIGKILL");
  await waitFor(runtime, (now) => now !== 0 && now !== pid);
  await stack.parts.get("workerd")?.ready();
}

async function setDisabled(minted: Minted, disabled: boolean): Promise<string | null> {
  const response = await gateway.admin("PUT", `/keys/${minted.key.id}/disabled`, { disabled });
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get("x-gateway-sync");
}

/** Writes until every cell has confirmed it within the answer's time: a Cell that has just come back may take longer. */
async function confirmDisabled(minted: Minted, disabled: boolean): Promise<void> {
  await waitFor(
    async () => await setDisabled(minted, disabled),
    (sync) => sync === null,
  );
}

describe("a key that is disabled under load", () => {
  it("stays refused through a restart of the Cell, and is served at once when it is enabled again", async () => {
    const minted = await gateway.mint(upstream.url, "delay=5");
    const clients = busyClients(gateway, minted, 50);
    await clients.served(100);
    await confirmDisabled(minted, true);
    await restart();
    expect(await clients.afterNow()).not.toContain(200);
    expect(await verdictOn(gateway, minted)).toBe(403);
    await confirmDisabled(minted, false);
    expect(await verdictOn(gateway, minted)).toBe(200);
  });

  it("stays refused through a restart of the Cell when the store still holds what was true before", async () => {
    const minted = await gateway.mint(upstream.url);
    expect(await verdictOn(gateway, minted)).toBe(200);
    const port = Number(new URL(bridge.url).port);
    await bridge.close();
    expect(await setDisabled(minted, true)).toBe("pending");
    await restart();
    expect(await statusOf(gateway, minted)).toBe(503);
    bridge = await startRedisBridge({ backend, token: "token", port });
    const statuses: number[] = [];
    await waitFor(
      async () => {
        statuses.push(await statusOf(gateway, minted));
        return statuses.at(-1);
      },
      (status) => status === 403,
      60_000,
    );
    expect(statuses).not.toContain(200);
  });

  it("while the Cell stands still is pending, and refused when it goes on", async () => {
    const minted = await gateway.mint(upstream.url);
    expect(await verdictOn(gateway, minted)).toBe(200);
    const pid = runtime();
    process.kill(pid, "SIGSTOP");
    try {
      expect(await setDisabled(minted, true)).toBe("pending");
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await waitFor(
      async () => await statusOf(gateway, minted),
      (status) => status === 403,
      60_000,
    );
    await confirmDisabled(minted, false);
    expect(await verdictOn(gateway, minted)).toBe(200);
  });
});

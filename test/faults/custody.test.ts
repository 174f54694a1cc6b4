/** Rows under faults: whatever is killed, every answer has its row exactly once (design §6). */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startStack } from "../../infra/local/stack.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { launchReady, processesOf } from "../harness/launched.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

let upstream: TestUpstream;
const folders: string[] = [];

beforeAll(async () => {
  upstream = await startTestUpstream();
});
afterAll(async () => {
  await upstream.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-faults-"));
  folders.push(dataDir);
  return dataDir;
}

/** Eight clients until told to stop; answers the request ids of whole answers with the time each ended. */
function load(
  gateway: Gateway,
  minted: Minted,
): { stop(): Promise<ReadonlyMap<string, number>>; readonly ended: ReadonlyMap<string, number> } {
  const ended = new Map<string, number>();
  let stopped = false;
  const client = async (): Promise<void> => {
    while (!stopped) {
      try {
        const response = await gateway.chat(minted, { stream: ended.size % 2 === 0 });
        const requestId = response.headers.get("x-gateway-request-id") ?? "";
        await response.text();
        if (response.status === 200) ended.set(requestId, Date.now());
      } catch {
        // The gateway was killed under this request: it promised nothing.
      }
    }
  };
  const clients = Array.from({ length: 8 }, client);
  return {
    ended,
    stop: async () => {
      stopped = true;
      await Promise.all(clients);
      return ended;
    },
  };
}

describe("the analytics store", () => {
  it("killed twice under load and started again: every row exactly once", async () => {
    const stack = await startStack({ env: stackEnv(folder()) });
    const gateway = new Gateway(stack);
    const minted = await gateway.mint(upstream.url);
    const running = load(gateway, minted);
    for (const enough of [150, 400]) {
      await waitFor(
        () => running.ended.size,
        (size) => size >= enough,
      );
      const pid = stack.parts.get("clickhouse")?.pid ?? 0;
      expect(pid).toBeGreaterThan(0);
      process.kill(pid, "SIGKILL");
      await waitFor(
        () => stack.parts.get("clickhouse")?.pid ?? null,
        (now) => now !== null && now !== pid,
      );
      await stack.parts.get("clickhouse")?.ready();
    }
    await waitFor(
      () => running.ended.size,
      (size) => size >= 600,
    );
    const expected = (await running.stop()).size;
    const counted = await waitFor(
      async () => await gateway.countRows(minted.tenant.id),
      ({ rows }) => rows >= expected,
      60_000,
    );
    expect(counted).toEqual({ rows: expected, requests: expected });
    await stack.stop();
  });
});

describe("a part of the stack", () => {
  it("killed under load comes back: the control service unnoticed, the runtime with its slots free and its rows kept", async () => {
    const stack = await startStack({ env: stackEnv(folder()) });
    const gateway = new Gateway(stack);
    const minted = await gateway.mint(upstream.url);
    const running = load(gateway, minted);
    const kill = async (part: string): Promise<void> => {
      const pid = stack.parts.get(part)?.pid ?? 0;
      expect(pid).toBeGreaterThan(0);
      process.kill(pid, "SIGKILL");
      const size = running.ended.size;
      if (part === "control")
        await waitFor(
          () => running.ended.size,
          (now) => now >= size + 50,
        );
      await waitFor(
        () => stack.parts.get(part)?.pid ?? null,
        (now) => now !== null && now !== pid,
      );
      await stack.parts.get(part)?.ready();
    };
    await waitFor(
      () => running.ended.size,
      (size) => size >= 100,
    );
    await kill("control");
    const killedAt = Date.now();
    await kill("workerd");
    const backAt = Date.now();
    const size = running.ended.size;
    await waitFor(
      () => running.ended.size,
      (now) => now >= size + 100,
    );
    const ended = await running.stop();
    const promised = [...ended]
      .filter(([, endedAt]) => endedAt < killedAt - 1000 || endedAt > backAt)
      .map(([requestId]) => requestId);
    await waitFor(
      async () => await gateway.stats(),
      ({ in_flight, queued }) => in_flight === 0 && queued === 0,
    );
    const rows = await waitFor(
      async () => await gateway.requestIds(minted.tenant.id),
      (found) => promised.every((requestId) => found.includes(requestId)),
      60_000,
    );
    expect(new Set(rows).size).toBe(rows.length);
    await stack.stop();
  });
});

describe("the whole stack", () => {
  it("killed under load and started again on its folder: every answer that ended more than a second before has its row once", async () => {
    const dataDir = folder();
    const first = await launchReady(dataDir);
    const gateway = new Gateway(first);
    const minted = await gateway.mint(upstream.url);
    const running = load(gateway, minted);
    await waitFor(
      () => running.ended.size,
      (size) => size >= 300,
    );
    const killedAt = Date.now();
    await first.end("SIGKILL");
    await waitFor(
      async () => await processesOf(dataDir),
      (left) => left.length === 0,
    );
    const promised = [...(await running.stop())]
      .filter(([, endedAt]) => endedAt < killedAt - 1000)
      .map(([requestId]) => requestId);

    const second = await launchReady(dataDir);
    const after = new Gateway(second);
    const last = await after.chat(minted);
    await last.text();
    await after.row(minted.tenant.id, last.headers.get("x-gateway-request-id"));
    const rows = await after.requestIds(minted.tenant.id);
    expect(new Set(rows).size).toBe(rows.length);
    expect(promised.filter((requestId) => !rows.includes(requestId))).toEqual([]);
    expect(await second.end("SIGTERM")).toBe(0);
  });
});

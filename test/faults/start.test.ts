/**
 * A failure at the start is reported in one clear line with exit code 1, and an end leaves no process behind
 * (docs/rules/local-stack.md#start-and-stop).
 * @module-tag check
 */
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Gateway } from "../harness/gateway.ts";
import { type Launched, launch, launchDev, launchReady, processesOf } from "../harness/launched.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "gateway-start-"));
});
afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true });
});

async function failure(
  more: Readonly<Record<string, string>>,
): Promise<{ code: number | null; lines: readonly string[] }> {
  const started = launch(dataDir, more);
  const code = await started.exited;
  return { code, lines: started.lines };
}

describe("a start that cannot succeed", () => {
  it.runIf(process.getuid?.() === 0)("names an admin token that another user has put in the data folder", async () => {
    chmodSync(dataDir, 0o777);
    const planted = join(dataDir, "admin-token");
    writeFileSync(planted, "planted-by-another-user-of-the-machine", { mode: 0o600 });
    chownSync(planted, 65534, 65534);
    const { code, lines } = await failure({});
    expect({ code, lines }).toEqual({
      code: 1,
      lines: [expect.stringContaining(`GATEWAY_DATA_DIR: ${planted} belongs to another user (uid 65534): remove it`)],
    });
  });

  const namesTheVariable = async (variable: string, value: string): Promise<void> => {
    const { code, lines } = await failure({ [variable]: value });
    expect(code).toBe(1);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(variable);
  };
  // one of the stack, one of the Worker; control/main.test.ts has one of the control service
  it.each([
    ["GATEWAY_PROXY_LISTEN", "nonsense"],
    ["GATEWAY_GLOBAL_MAX_IN_FLIGHT", "many"],
    ["GATEWAY_UPSTREAM_BASE_URL", "http://ops:s3cret@host/v1"],
  ])("names %s when it is %j", namesTheVariable);
  it.each([
    ["GATEWAY_ENCRYPTION_KEY", "c2hvcnQ="],
    ["GATEWAY_FAIRSHARE_ALGORITHM", "random"],
    ["GATEWAY_BLOCK_PRIVATE_NETWORKS", "maybe"],
    ["GATEWAY_CELL", "Not A Cell"],
    ["GATEWAY_DATABASE_URL", "mysql://h/db"],
    ["GATEWAY_CELLS", "{}"],
    ["GATEWAY_CELLS", '[{"cell":"elsewhere","url":"http://127.0.0.1:1"}]'],
    ["GATEWAY_ALLOWED_PRIVATE_CIDRS", "10.0.0.0/99"],
    ["GATEWAY_MAX_BODY_BYTES", "-1"],
    ["GATEWAY_UPSTREAM_BASE_URL", "not-a-url"],
    ["GATEWAY_REDIS_URL", "ftp://h"],
    ["GATEWAY_CLICKHOUSE_URL", "h:8123"],
    ["GATEWAY_WORKERS", "several"],
  ])("names %s when it is %j", { tags: ["long"] }, namesTheVariable);

  const namesTheTakenPort = async (variable: string): Promise<void> => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
    const { port } = holder.address() as AddressInfo;
    const { code, lines } = await failure({ [variable]: `127.0.0.1:${port}` });
    await new Promise((resolve) => holder.close(resolve));
    expect({ code, lineCount: lines.length }).toEqual({ code: 1, lineCount: 1 });
    expect(lines[0]).toContain(variable);
    expect(lines[0]).toContain(String(port));
  };
  it.each(["GATEWAY_PROXY_LISTEN"])("names %s when its port is taken", namesTheTakenPort);
  it.each(["GATEWAY_ADMIN_LISTEN", "GATEWAY_METRICS_LISTEN"])(
    "names %s when its port is taken",
    { tags: ["long"] },
    namesTheTakenPort,
  );

  it("says that the Worker under development is one process", async () => {
    const started = launchDev(dataDir, { GATEWAY_WORKERS: "2" });
    expect(await started.exited).toBe(1);
    expect(started.lines).toEqual([expect.stringMatching(/^gateway: GATEWAY_WORKERS must be 1 with npm run dev/)]);
  });
});

describe("an end", () => {
  const stops = async (stack: Launched, signal: NodeJS.Signals): Promise<void> => {
    expect((await processesOf(dataDir)).length).toBeGreaterThan(0);
    expect(await stack.end(signal)).toBe(0);
    expect(await processesOf(dataDir)).toEqual([]);
    // its output is a pipe here: each line is one object that names its part
    const printed = stack.lines;
    expect(printed.map((line) => (JSON.parse(line) as { part?: string }).part)).not.toContain(undefined);
    expect(JSON.parse(printed.at(-1) ?? "")).toMatchObject({ part: "stack", event: "stopped" });
  };

  it("by SIGTERM stops all parts and frees the folder; SIGKILL of the launcher leaves no process", async () => {
    const first = await launchReady(dataDir);
    const { code, lines } = await failure({});
    expect({ code, lines }).toEqual({ code: 1, lines: [expect.stringContaining(dataDir)] });
    await stops(first, "SIGTERM");
    const second = await launchReady(dataDir, { GATEWAY_WORKERS: "3" });
    await second.end("SIGKILL");
    await waitFor(
      async () => await processesOf(dataDir),
      (left) => left.length === 0,
    );
  });

  it("by SIGINT stops every part and leaves the folder free", { tags: ["long"] }, async () => {
    await stops(await launchReady(dataDir), "SIGINT");
    await stops(await launchReady(dataDir), "SIGTERM");
  });

  it.each(["1", "3"])(
    "by SIGTERM leaves one row each for open, silent and queued requests: GATEWAY_WORKERS=%s",
    { tags: ["long"] },
    async (workers) => {
      const upstream = await startTestUpstream();
      const stack = await launchReady(dataDir, { GATEWAY_WORKERS: workers });
      const gateway = new Gateway(stack);
      const streaming = await gateway.mint(upstream.url, "chunks=100000,pace=20");
      const silent = await gateway.mint(upstream.url, "hang", { max_in_flight: 1 });
      const stream = await gateway.chat(streaming, { stream: true });
      await stream.body?.getReader().read();
      const waiting = [silent, silent].map(async (minted) => await gateway.chat(minted).catch(() => null));
      await waitFor(
        async () => await gateway.stats(),
        ({ in_flight, queued }) => in_flight === 2 && queued === 1,
      );
      expect(await stack.end("SIGTERM")).toBe(0);
      await Promise.all(waiting);
      expect(await processesOf(dataDir)).toEqual([]);
      const again = await launchReady(dataDir);
      const after = new Gateway(again);
      for (const [minted, rows] of [
        [streaming, 1],
        [silent, 2],
      ] as const)
        await waitFor(
          async () => await after.countRows(minted.tenant.id),
          (counted) => counted.rows === rows && counted.requests === rows,
        );
      expect(await after.stats()).toMatchObject({ in_flight: 0, queued: 0 });
      expect(await again.end("SIGTERM")).toBe(0);
      await upstream.close();
    },
  );
});

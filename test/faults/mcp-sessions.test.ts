/** Whose an MCP session is, is kept in the key-value store for a day, and not asked for at any price (decisions §43.5). */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { storeKeys } from "../../shared/records.ts";
import { sha256Hex } from "../../shared/sha256.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { type McpUpstream, startMcpUpstream } from "../harness/mcp-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const DAY_SECS = 24 * 60 * 60;
const backend = memoryBackend();
const dataDir = mkdtempSync(join(tmpdir(), "gateway-sessions-"));
let bridge: Awaited<ReturnType<typeof startRedisBridge>>;
let upstream: McpUpstream;
let stack: Stack;
let gateway: Gateway;

beforeAll(async () => {
  upstream = await startMcpUpstream();
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

it("is renewed by use, and passes while the store is away", async () => {
  const [own, other] = await Promise.all([gateway.mint(upstream.url), gateway.mint(upstream.url)]);
  const id = `session-${own.mark}`;
  await gateway.must("POST", "/mcp-servers", { name: own.mark, upstream_url: upstream.url });
  const statusOf = async ({ secret }: Minted, rest = "/status=200"): Promise<number> => {
    const headers = { authorization: `Bearer ${secret}`, "mcp-session-id": id };
    const response = await fetch(`${stack.proxyUrl}/mcp/${own.mark}${rest}`, { method: "POST", headers, body: "{}" });
    await response.text();
    return response.status;
  };
  const name = storeKeys.mcpSession(own.mark, sha256Hex(id));
  const keptSecs = async (): Promise<number> => Number(await backend.call(["TTL", name]));

  expect(await statusOf(own, `/session=${id}`)).toBe(200);
  expect(await backend.call(["GET", name])).toBe(own.tenant.id);
  expect(await keptSecs()).toBeGreaterThan(DAY_SECS - 3600);
  expect(await statusOf(other)).toBe(404);

  await backend.call(["EXPIRE", name, "100"]);
  expect(await statusOf(other)).toBe(404);
  expect(await keptSecs()).toBeLessThanOrEqual(100);
  expect(await statusOf(own)).toBe(200);
  await waitFor(keptSecs, (secs) => secs > DAY_SECS - 3600);

  const port = Number(new URL(bridge.url).port);
  await bridge.close();
  expect([await statusOf(other), await statusOf(own)]).toEqual([200, 200]);
  bridge = await startRedisBridge({ backend, token: "token", port });
  await waitFor(
    async () => await statusOf(other),
    (status) => status === 404,
  );
  expect(await statusOf(own)).toBe(200);
});

/**
 * Every variable of a part that is built here reaches that part, and every embedded part can be replaced.
 * @module-tag check
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startClickhouseBridge } from "../../infra/local/clickhouse/bridge.ts";
import { openEngine } from "../../infra/local/clickhouse/engine.ts";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";

let upstream: TestUpstream;
let folder: string;

beforeAll(async () => {
  upstream = await startTestUpstream();
  folder = mkdtempSync(join(tmpdir(), "gateway-config-"));
});
afterAll(async () => {
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

async function withStack(
  name: string,
  env: Readonly<Record<string, string>>,
  use: (gateway: Gateway, stack: Stack) => Promise<void>,
): Promise<void> {
  const stack = await startStack({ env: stackEnv(join(folder, name), env) });
  try {
    await use(new Gateway(stack), stack);
  } finally {
    await stack.stop();
  }
}

describe("variables", () => {
  it("reach the Worker, its objects and the control service", async () => {
    const env = {
      GATEWAY_ADMIN_TOKEN: "an-admin-token",
      GATEWAY_INTERNAL_TOKEN: "an-internal-token",
      GATEWAY_CELL: "cell-x",
      GATEWAY_GLOBAL_MAX_IN_FLIGHT: "2",
      GATEWAY_FAIRSHARE_ALGORITHM: "weighted",
      GATEWAY_MAX_BODY_BYTES: "2000",
      GATEWAY_SESSION_ID_DERIVATION: "off",
      GATEWAY_PASSTHROUGH_PATHS: "/v1/other, /v1/more",
      GATEWAY_PASSTHROUGH_FIELDS: "models, lora_path",
      // Longer than any answer takes that is to come, on a busy machine too.
      GATEWAY_UPSTREAM_TIMEOUT_SECS: "5",
      GATEWAY_UPSTREAM_BASE_URL: upstream.url,
      GATEWAY_LEDGER_SHARDS: "2",
      GATEWAY_CLICKHOUSE_DB: "elsewhere",
      GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
      GATEWAY_API_KEY_PEPPER: "pepper",
      GATEWAY_BLOCK_PRIVATE_NETWORKS: "yes",
      GATEWAY_ALLOWED_PRIVATE_CIDRS: "127.0.0.0/8",
      GATEWAY_WAL_PATH: join(folder, "wal"),
    };
    await withStack("all", env, async (gateway, stack) => {
      expect(stack.adminToken).toBe("an-admin-token");
      const internal = await fetch(`${stack.proxyUrl}/internal/stats`, {
        headers: { authorization: "Bearer an-internal-token" },
      });
      expect(await internal.json()).toEqual({ cell: "cell-x", in_flight: 0, queued: 0, max_in_flight: 2 });

      const blocked = await gateway.admin("POST", "/models", { model_name: "blocked", api_base: "http://10.0.0.1/v1" });
      expect({ status: blocked.status, body: await blocked.json() }).toMatchObject({
        status: 400,
        body: { error: { code: "address_blocked", param: "api_base" } },
      });

      const minted = await gateway.mint("", "delay=500", { api_key: "sk-sealed" });
      const responses = await Promise.all(Array.from({ length: 6 }, async () => await gateway.chat(minted)));
      expect(responses.map((response) => response.status)).toEqual(Array.from({ length: 6 }, () => 200));
      await Promise.all(responses.map(async (response) => await response.text()));
      expect(upstream.peak(minted.mark)).toBe(2);
      expect(upstream.seen(minted.mark)[0]?.headers.authorization).toBe("Bearer sk-sealed");
      for (const response of responses) {
        const row = await gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
        expect(row).toMatchObject({ cell: "cell-x", session_id: "", session_id_source: "none" });
      }
      const large = await gateway.chat(minted, { body: { messages: [{ role: "user", content: "x".repeat(2000) }] } });
      expect(large.status).toBe(413);
      await large.text();
      const passed = async (path: string): Promise<boolean> => {
        const headers = { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" };
        const body = JSON.stringify({ model: minted.model.model_name });
        const response = await fetch(`${gateway.proxyUrl}${path}`, { method: "POST", headers, body });
        return !(await response.text()).includes("unknown_endpoint");
      };
      expect({
        rerank: await passed("/v1/rerank"),
        other: await passed("/v1/other"),
        sleep: await passed("/sleep"),
      }).toEqual({ rerank: true, other: true, sleep: false });
      const steered = async (field: string) => {
        const response = await gateway.chat(minted, { body: { [field]: "x" } });
        await response.text();
        return response.status;
      };
      expect({ models: await steered("models"), route: await steered("route") }).toEqual({ models: 200, route: 400 });
      const slow = await gateway.mint("", "hang");
      expect((await gateway.chat(slow)).status).toBe(504);
      expect(readdirSync(join(folder, "wal")).length).toBeGreaterThan(0);
    });
  });
});

describe("an upstream that was registered before private networks were blocked", () => {
  it("is no longer called by address or name, but listed ranges and the operator's own are", {
    tags: ["long"],
  }, async () => {
    const named = upstream.url.replace("127.0.0.1", "localhost");
    const addresses = [upstream.url, named, ""];
    const minted: Minted[] = [];
    const statuses = async (gateway: Gateway): Promise<readonly number[]> => {
      const seen: number[] = [];
      for (const [at, one] of minted.entries()) {
        const response = await gateway.chat(one, { stream: at % 2 === 0 });
        await response.text();
        seen.push(response.status);
      }
      return seen;
    };
    const env = { GATEWAY_UPSTREAM_BASE_URL: upstream.url };
    await withStack("private", env, async (gateway) => {
      for (const address of addresses) minted.push(await gateway.mint(address));
      expect(await statuses(gateway)).toEqual([200, 200, 200]);
    });
    const blocked = { ...env, GATEWAY_BLOCK_PRIVATE_NETWORKS: "1" };
    await withStack("private", blocked, async (gateway) => expect(await statuses(gateway)).toEqual([502, 502, 200]));
    expect(minted.map(({ mark }) => upstream.seen(mark).length)).toEqual([1, 1, 2]);
    const listed = { ...blocked, GATEWAY_ALLOWED_PRIVATE_CIDRS: "127.0.0.0/8,::1/128" };
    await withStack("private", listed, async (gateway) => expect(await statuses(gateway)).toEqual([200, 200, 200]));
  });
});

describe("embedded parts", () => {
  it("are replaced by what their variables name, one by one", { tags: ["long"] }, async () => {
    mkdirSync(join(folder, "own"), { recursive: true });
    const engine = openEngine(join(folder, "own", "clickhouse"), 2);
    const clickhouse = await startClickhouseBridge({ engine, user: "someone", password: "secret" });
    const redis = await startRedisBridge({ backend: memoryBackend(), token: "own-token" });
    const database = join(folder, "own", "database");
    const env = {
      GATEWAY_DATABASE_URL: `pglite:${database}`,
      GATEWAY_REDIS_URL: redis.url,
      GATEWAY_REDIS_TOKEN: "own-token",
      GATEWAY_CLICKHOUSE_URL: clickhouse.url,
      GATEWAY_CLICKHOUSE_USER: "someone",
      GATEWAY_CLICKHOUSE_PASSWORD: "secret",
    };
    try {
      await withStack("replaced", env, async (gateway, stack) => {
        expect([...stack.parts.keys()].sort()).toEqual(["control", "front", "workerd"]);
        const minted = await gateway.mint(upstream.url);
        const response = await gateway.chat(minted);
        await response.text();
        expect(await gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"))).toMatchObject({
          total_tokens: 33,
        });
      });
      expect(existsSync(database)).toBe(true);
      expect(
        readdirSync(join(folder, "replaced")).filter((name) => /redis|clickhouse|pglite|database/.test(name)),
      ).toEqual([]);
    } finally {
      await clickhouse.close();
      await redis.close();
      await engine.close();
    }
  });
});

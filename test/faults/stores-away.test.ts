/**
 * The data plane serves while its stores and the control service are away, and has delivered everything when they are
 * back (docs/rules/freshness.md#store-down, docs/rules/settlement-and-rows.md#custody).
 */
import { describe, expect, it } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import type { Stack } from "../../infra/local/stack.ts";
import { busyClients, statusOf } from "../harness/busy-clients.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { ownPort } from "../harness/own-port.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const upstream = useStarted(startTestUpstream);

async function serve(gateway: Gateway, minted: Minted, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) {
    const response = await gateway.chat(minted, { stream: left % 2 === 0 });
    expect(response.status).toBe(200);
    await response.text();
  }
}

async function started(env: Readonly<Record<string, string>>): Promise<[Stack, Gateway]> {
  const stack = await startTestStack(env);
  return [stack, new Gateway(stack)];
}

describe("the key-value store", () => {
  it("that is down makes requests of unknown keys 503, and they are served when it is back", async () => {
    const backend = memoryBackend();
    let bridge = await startRedisBridge({ backend, token: "token", port: await ownPort() });
    const port = Number(new URL(bridge.url).port);
    const [stack, gateway] = await started({ GATEWAY_REDIS_URL: bridge.url, GATEWAY_REDIS_TOKEN: "token" });
    try {
      const known = await gateway.mint(upstream().url);
      const unknown = await gateway.mint(upstream().url);
      await serve(gateway, known, 5);
      await bridge.close();
      await serve(gateway, known, 5);
      const refused = await gateway.chat(unknown);
      expect({ status: refused.status, body: await refused.json() }).toMatchObject({
        status: 503,
        body: { error: { code: "key_store_unavailable", message: "key store unavailable", type: "server_error" } },
      });
      bridge = await startRedisBridge({ backend, token: "token", port });
      await waitFor(
        async () => {
          const response = await gateway.chat(unknown);
          await response.text();
          return response.status;
        },
        (status) => status === 200,
      );
    } finally {
      await stack.stop();
      await bridge.close();
    }
  });

  it("that is down leaves a revocation pending, yet no later request is served", { tags: ["check"] }, async () => {
    const backend = memoryBackend();
    let bridge = await startRedisBridge({ backend, token: "token", port: await ownPort() });
    const port = Number(new URL(bridge.url).port);
    const [stack, gateway] = await started({ GATEWAY_REDIS_URL: bridge.url, GATEWAY_REDIS_TOKEN: "token" });
    try {
      const minted = await gateway.mint(upstream().url);
      const clients = busyClients(gateway, minted, 50);
      await clients.served(100);
      await bridge.close();
      await clients.served(200);
      const revoked = await gateway.admin("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
      expect({ status: revoked.status, "x-gateway-sync": revoked.headers.get("x-gateway-sync") }).toEqual({
        status: 200,
        "x-gateway-sync": "pending",
      });
      expect(new Set(await clients.afterNow())).toEqual(new Set([503]));
      await revoked.text();
      const refused = await gateway.chat(minted);
      expect({ status: refused.status, body: await refused.json() }).toMatchObject({
        status: 503,
        body: { error: { code: "key_store_unavailable" } },
      });
      bridge = await startRedisBridge({ backend, token: "token", port });
      const statuses = new Set<number>();
      await waitFor(
        async () => {
          const status = await statusOf(gateway, minted);
          statuses.add(status);
          return status;
        },
        (status) => status === 403,
      );
      expect(statuses).not.toContain(200);
      await gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: false });
      expect(await statusOf(gateway, minted)).toBe(200);
    } finally {
      await stack.stop();
      await bridge.close();
    }
  });
});

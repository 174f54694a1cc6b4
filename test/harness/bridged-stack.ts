/** A whole stack with a key-value store that a test can switch off and read. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { type Stack, startStack } from "../../infra/local/stack.ts";
import { Gateway } from "./gateway.ts";
import { stackEnv } from "./global-setup.ts";
import { ownPort } from "./own-port.ts";

/** Registers the hooks; the parts are there once tests run. `workers`: GATEWAY_WORKERS. */
export function useBridgedStack(workers = 1) {
  const backend = memoryBackend();
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-bridged-"));
  let bridge: Awaited<ReturnType<typeof startRedisBridge>>;
  let stack: Stack;
  let gateway: Gateway;
  beforeAll(async () => {
    bridge = await startRedisBridge({ backend, token: "token", port: await ownPort() });
    stack = await startStack({
      env: stackEnv(dataDir, {
        GATEWAY_REDIS_URL: bridge.url,
        GATEWAY_REDIS_TOKEN: "token",
        GATEWAY_WORKERS: String(workers),
      }),
    });
    gateway = new Gateway(stack);
  });
  afterAll(async () => {
    await stack.stop();
    await bridge.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return {
    backend,
    get stack() {
      return stack;
    },
    get gateway() {
      return gateway;
    },
    /** Switches the store off; returns a function that switches it on again, with all its content. */
    storeLeaves: async (): Promise<() => Promise<void>> => {
      const port = Number(new URL(bridge.url).port);
      await bridge.close();
      return async () => {
        bridge = await startRedisBridge({ backend, token: "token", port });
      };
    },
  };
}

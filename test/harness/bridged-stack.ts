/** A whole stack with a key-value store that a test can switch off and read. */

import { afterAll, beforeAll } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import type { Stack } from "../../infra/local/stack.ts";
import { Gateway } from "./gateway.ts";
import { ownPort } from "./own-port.ts";
import { startTestStack } from "./test-stack.ts";

/** Registers the hooks; the parts are there once tests run. `workers`: GATEWAY_WORKERS; `env`: other variables. */
export function useBridgedStack(workers = 1, env: Readonly<Record<string, string>> = {}) {
  const backend = memoryBackend();
  let bridge: Awaited<ReturnType<typeof startRedisBridge>>;
  let stack: Stack;
  let gateway: Gateway;
  beforeAll(async () => {
    bridge = await startRedisBridge({ backend, token: "token", port: await ownPort() });
    stack = await startTestStack({
      GATEWAY_REDIS_URL: bridge.url,
      GATEWAY_REDIS_TOKEN: "token",
      GATEWAY_WORKERS: String(workers),
      ...env,
    });
    gateway = new Gateway(stack);
  });
  afterAll(async () => {
    await stack.stop();
    await bridge.close();
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

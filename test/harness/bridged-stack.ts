/** A whole stack with a key-value store that a test can switch off and read. */

import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { Gateway } from "./gateway.ts";
import { ownPort } from "./own-port.ts";
import { startTestStack } from "./test-stack.ts";
import { useStarted } from "./use-started.ts";

/** Registers the hooks; the parts are there once tests run. `workers`: GATEWAY_WORKERS; `env`: other variables. */
export function useBridgedStack(workers = 1, env: Readonly<Record<string, string>> = {}) {
  const backend = memoryBackend();
  const startBridge = async (port: number) => await startRedisBridge({ backend, token: "token", port });
  const parts = useStarted(async () => {
    let bridge = await startBridge(await ownPort());
    const store = { GATEWAY_REDIS_URL: bridge.url, GATEWAY_REDIS_TOKEN: "token" };
    const stack = await startTestStack({ ...store, GATEWAY_WORKERS: String(workers), ...env });
    const storeLeaves = async () => {
      const port = Number(new URL(bridge.url).port);
      await bridge.close();
      return async (): Promise<void> => {
        bridge = await startBridge(port);
      };
    };
    const close = async (): Promise<void> => {
      await stack.stop();
      await bridge.close();
    };
    return { stack, gateway: new Gateway(stack), storeLeaves, close };
  });
  return {
    backend,
    get stack() {
      return parts().stack;
    },
    get gateway() {
      return parts().gateway;
    },
    /** Switches the store off; returns a function that switches it on again, with all its content. */
    storeLeaves: async (): Promise<() => Promise<void>> => await parts().storeLeaves(),
  };
}

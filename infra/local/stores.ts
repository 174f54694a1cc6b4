/**
 * The key-value and analytics stores of the stack: embedded ones, or the real ones that the configuration names. The
 * embedded key-value store runs in this process; the embedded analytics engine in a supervised child that keeps its port.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Endpoint, StackContext } from "./context.ts";
import type { Listening } from "./http/listen.ts";
import { compileCache } from "./own-folders.ts";
import { type Child, jsonLine, startChild } from "./process/child.ts";
import { ANALYTICS_LIVENESS } from "./process/liveness.ts";
import { type Supervised, supervise } from "./process/supervisor.ts";
import type { Backend } from "./redis/backend.ts";
import { startRedisBridge } from "./redis/bridge.ts";
import { memoryBackend } from "./redis/memory-backend.ts";
import { realBackend } from "./redis/real-backend.ts";

/** A store's endpoint, and a function that closes it. */
interface RunningRedis extends Endpoint {
  close(): Promise<void>;
}

/** The analytics store from the side of its clients. `part` is null for a real one. */
export interface RunningClickhouse {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly part: Supervised | null;
}

const secret = () => randomBytes(24).toString("base64url");

/** Starts the key-value store, or returns the configured one. */
export async function startRedis({ config }: StackContext): Promise<RunningRedis> {
  if (config.redis.kind === "rest") {
    return { url: config.redis.url, token: config.redis.token, close: async () => undefined };
  }
  const backend: Backend = config.redis.kind === "redis" ? realBackend(config.redis.url) : memoryBackend();
  const token = secret();
  const bridge: Listening = await startRedisBridge({ backend, token });
  return {
    url: bridge.url,
    token,
    close: async () => {
      await bridge.close();
      await backend.close();
    },
  };
}

/** Starts the analytics engine, or returns the configured one. Rejects with the engine's last line of output. */
export async function startClickhouse(context: StackContext): Promise<RunningClickhouse> {
  const { config, guard, lock, log } = context;
  if (config.clickhouseUrl !== undefined) {
    return { url: config.clickhouseUrl, user: config.clickhouseUser, password: config.clickhousePassword, part: null };
  }
  const password = config.clickhousePassword || secret();
  let port = "0";
  const part = await supervise({
    name: "clickhouse",
    log: (line) => log("stack", line),
    abandoned: context.abandoned,
    onGiveUp: (reason) => context.onGiveUp("clickhouse", reason),
    health: {
      url: () => `http://127.0.0.1:${port}/ping`,
      policy: context.liveness ?? ANALYTICS_LIVENESS,
    },
    start: async (stopping): Promise<Child> => {
      const child = await startChild(
        {
          name: "clickhouse",
          unwanted: stopping,
          command: process.execPath,
          args: [join(import.meta.dirname, "clickhouse/main.ts")],
          env: {
            PATH: process.env["PATH"],
            NODE_COMPILE_CACHE: compileCache(config.dataDir),
            GATEWAY_CLICKHOUSE_FOLDER: join(config.dataDir, "clickhouse"),
            GATEWAY_CLICKHOUSE_DB: config.variables["GATEWAY_CLICKHOUSE_DB"],
            GATEWAY_CLICKHOUSE_USER: config.clickhouseUser,
            GATEWAY_CLICKHOUSE_PASSWORD: password,
            GATEWAY_CLICKHOUSE_PORT: port,
          },
          readyFrom: "stdout",
          readReady: jsonLine,
          log: (line) => log("clickhouse", line),
        },
        guard,
        config.startTimeoutMs,
      );
      lock.addHolder(child.pid);
      void child.exited.then(() => lock.removeHolder(child.pid));
      port = new URL(String((await child.ready)["url"])).port;
      return child;
    },
  });
  return { url: `http://127.0.0.1:${port}`, user: config.clickhouseUser, password, part };
}

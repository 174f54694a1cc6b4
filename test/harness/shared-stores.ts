/** The three stores as servers of their own, for tests in which more than one stack, or something beside it, uses them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Guard, jsonLine, startChild, startGuard } from "../../infra/local/process/child.ts";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { startPostgres } from "./postgres.ts";

const PASSWORD = "password-of-the-test";
const TOKEN = "token-of-the-test";

export type SharedStores = Awaited<ReturnType<typeof startSharedStores>>;

/** Starts a ClickHouse engine with a password of its own on a folder. */
export async function startClickhouse(folder: string, password: string, guard: Guard): ReturnType<typeof startChild> {
  return await startChild(
    {
      name: "clickhouse",
      unwanted: new AbortController().signal,
      command: process.execPath,
      args: [join(import.meta.dirname, "../../infra/local/clickhouse/main.ts")],
      env: {
        PATH: process.env["PATH"],
        GATEWAY_CLICKHOUSE_FOLDER: join(folder, "clickhouse"),
        GATEWAY_CLICKHOUSE_PASSWORD: password,
      },
      readyFrom: "stdout",
      readReady: jsonLine,
      log: () => undefined,
    },
    guard,
  );
}

/** Starts a PostgreSQL, the key-value store behind its protocol, and a ClickHouse engine. */
export async function startSharedStores() {
  const folder = mkdtempSync(join(tmpdir(), "gateway-stores-"));
  const guard = startGuard();
  const [postgres, redis, clickhouse] = await Promise.all([
    startPostgres(),
    startRedisBridge({ backend: memoryBackend(), token: TOKEN }),
    startClickhouse(folder, PASSWORD, guard),
  ]);
  return {
    /** The variables that lead a stack to them. */
    env: {
      GATEWAY_DATABASE_URL: postgres.url("postgres"),
      GATEWAY_REDIS_URL: redis.url,
      GATEWAY_REDIS_TOKEN: TOKEN,
      GATEWAY_CLICKHOUSE_URL: String((await clickhouse.ready)["url"]),
      GATEWAY_CLICKHOUSE_PASSWORD: PASSWORD,
    },
    close: async (): Promise<void> => {
      await clickhouse.stop(2_000);
      guard.close();
      await Promise.all([postgres.stop(), redis.close()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The three stores as servers of their own, for tests in which more than one stack, or something beside it, uses them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { startPostgres } from "./postgres.ts";
import { startProgram } from "./program-process.ts";

const PASSWORD = "password-of-the-test";
const TOKEN = "token-of-the-test";

export type SharedStores = Awaited<ReturnType<typeof startSharedStores>>;

export async function startClickhouse(folder: string, password: string) {
  const env = { GATEWAY_CLICKHOUSE_FOLDER: join(folder, "clickhouse"), GATEWAY_CLICKHOUSE_PASSWORD: password };
  const args = [join(import.meta.dirname, "../../infra/local/clickhouse/main.ts")];
  const program = startProgram({ command: process.execPath, args }, env, "listening", true);
  return { url: String((await program.ready)["url"]), stop: async () => void (await program.end()) };
}

export async function startSharedStores() {
  const folder = mkdtempSync(join(tmpdir(), "gateway-stores-"));
  const [postgres, redis, clickhouse] = await Promise.all([
    startPostgres(),
    startRedisBridge({ backend: memoryBackend(), token: TOKEN }),
    startClickhouse(folder, PASSWORD),
  ]);
  return {
    /** The variables that lead a stack to them. */
    env: {
      GATEWAY_DATABASE_URL: postgres.url("postgres"),
      GATEWAY_REDIS_URL: redis.url,
      GATEWAY_REDIS_TOKEN: TOKEN,
      GATEWAY_CLICKHOUSE_URL: clickhouse.url,
      GATEWAY_CLICKHOUSE_PASSWORD: PASSWORD,
    },
    close: async (): Promise<void> => {
      await Promise.all([clickhouse.stop(), postgres.stop(), redis.close()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

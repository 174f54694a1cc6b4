/**
 * A gateway whose planes are processes of their own, as in containers: a control service, a data plane, and the stores that both
 * share: PostgreSQL, a store behind the Redis protocol, and a ClickHouse engine.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type InnerAddress, innerOf, startFrontProxy } from "../../infra/local/front.ts";
import { startGuard } from "../../infra/local/process/child.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { Gateway } from "./gateway.ts";
import { startPostgres } from "./postgres.ts";
import { type ProgramCommand, type ProgramProcess, startProgram } from "./program-process.ts";
import { startRedisServer } from "./redis-protocol.ts";
import { startClickhouse } from "./shared-stores.ts";

const PASSWORD = "password-of-the-stores";
const ADMIN_TOKEN = "admin-token-of-the-planes";
const INTERNAL_TOKEN = "token-between-the-planes";

/** Starts the stores and both planes, the data plane with variables of its own. Rejects with the last lines of a plane that does not start. */
export async function startPlanes(
  commands: Readonly<Record<"control" | "edge", ProgramCommand>>,
  dataDir: string,
  ofEdge: Readonly<Record<string, string>> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "gateway-planes-"));
  const guard = startGuard();
  const backend = memoryBackend();
  // The control service starts before the data plane has an address, so it gets one that leads there.
  let edgeAddress: InnerAddress | undefined;
  const [postgres, redis, toEdge] = await Promise.all([
    startPostgres(),
    startRedisServer(backend, PASSWORD),
    startFrontProxy("127.0.0.1", 0, () => (edgeAddress === undefined ? [] : [edgeAddress])),
  ]);
  const clickhouse = await startClickhouse(folder, PASSWORD, guard);
  const stores = {
    GATEWAY_REDIS_URL: redis.url,
    GATEWAY_CLICKHOUSE_URL: String((await clickhouse.ready)["url"]),
    GATEWAY_CLICKHOUSE_PASSWORD: PASSWORD,
    GATEWAY_INTERNAL_TOKEN: INTERNAL_TOKEN,
  };
  const running: ProgramProcess[] = [];
  /** Stops what still runs, and the stores. */
  const close = async (): Promise<void> => {
    await Promise.all(running.map(async (plane) => await plane.end()));
    await toEdge.close();
    await clickhouse.stop(2_000);
    guard.close();
    await redis.close();
    await backend.close();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const start = async (command: ProgramCommand, env: Readonly<Record<string, string>>, event: string) => {
    const plane = startProgram(command, { ...env, ...stores }, event);
    running.push(plane);
    return { plane, message: await plane.ready };
  };
  try {
    const control = await start(
      commands.control,
      {
        GATEWAY_ADMIN_LISTEN: "127.0.0.1:0",
        GATEWAY_METRICS_LISTEN: "127.0.0.1:0",
        GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
        GATEWAY_DATABASE_URL: postgres.url("postgres"),
        GATEWAY_MODEL_HEALTH_ENABLED: "0",
        GATEWAY_EDGE_BASE_URL: toEdge.url,
      },
      "listening",
    );
    const adminUrl = new URL(String(control.message["admin"])).origin;
    const startEdge = async (folderOfIts: string, more: Readonly<Record<string, string>>) => {
      const own = {
        GATEWAY_DATA_DIR: folderOfIts,
        GATEWAY_PROXY_LISTEN: "127.0.0.1:0",
        GATEWAY_INTERNAL_BASE_URL: adminUrl,
      };
      const { plane, message } = await start(commands.edge, { ...own, ...more }, "ready");
      return { plane, proxyUrl: new URL(String(message["data_plane"])).origin };
    };
    const { plane: edge, proxyUrl } = await startEdge(dataDir, ofEdge);
    edgeAddress = innerOf(proxyUrl);
    const metricsUrl = String(control.message["metrics"]);
    return {
      gateway: new Gateway({ proxyUrl, adminUrl, adminToken: ADMIN_TOKEN, metricsUrl }),
      metricsUrl,
      control: control.plane,
      edge,
      /** Starts a further data plane with its own folder; the address at which it serves. */
      join: async (folderOfIts: string, more: Readonly<Record<string, string>>): Promise<string> =>
        (await startEdge(folderOfIts, more)).proxyUrl,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

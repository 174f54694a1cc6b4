/**
 * A gateway whose planes are processes of their own, as in containers: a control service, a data plane, and the stores that both
 * share: PostgreSQL, a store behind the Redis protocol, and a ClickHouse engine.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type InnerAddress, innerOf, startFrontProxy } from "../../infra/local/front.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { Gateway } from "./gateway.ts";
import { startPostgres } from "./postgres.ts";
import { type ProgramCommand, type ProgramProcess, startProgram } from "./program-process.ts";
import { startRedisServer } from "./redis-protocol.ts";
import { startClickhouse } from "./shared-stores.ts";

const PASSWORD = "password-of-the-stores";
const ADMIN_TOKEN = "admin-token-of-the-planes";
const INTERNAL_TOKEN = "token-between-the-planes";

type Variables = Readonly<Record<string, string>>;

/**
 * Starts the stores and both planes, the data plane with variables of its own, and both with those of `ofBoth`. Rejects with the last
 * lines of a plane that does not start.
 */
export async function startPlanes(
  commands: Readonly<Record<"control" | "edge", ProgramCommand>>,
  dataDir: string,
  ofEdge: Variables = {},
  ofBoth: Variables = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "gateway-planes-"));
  const backend = memoryBackend();
  // The control service starts before the data plane has an address, so it gets one that leads there.
  let edgeAddress: InnerAddress | undefined;
  const [postgres, redis, toEdge] = await Promise.all([
    startPostgres(),
    startRedisServer(backend, PASSWORD),
    startFrontProxy("127.0.0.1", 0, () => (edgeAddress === undefined ? [] : [edgeAddress])),
  ]);
  const clickhouse = await startClickhouse(folder, PASSWORD);
  const stores = {
    GATEWAY_REDIS_URL: redis.url,
    GATEWAY_CLICKHOUSE_URL: clickhouse.url,
    GATEWAY_CLICKHOUSE_PASSWORD: PASSWORD,
    GATEWAY_INTERNAL_TOKEN: INTERNAL_TOKEN,
  };
  const running: ProgramProcess[] = [];
  /** Stops what still runs, and the stores. */
  const close = async (): Promise<void> => {
    await Promise.all(running.map(async (plane) => await plane.end()));
    await toEdge.close();
    await clickhouse.stop();
    await redis.close();
    await backend.close();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const start = async (command: ProgramCommand, env: Variables, event: string) => {
    const plane = startProgram(command, { ...stores, ...env }, event);
    running.push(plane);
    return { plane, message: await plane.ready };
  };
  try {
    const ofControl = {
      GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
      GATEWAY_DATABASE_URL: postgres.url("postgres"),
      GATEWAY_MODEL_HEALTH_ENABLED: "0",
      GATEWAY_EDGE_BASE_URL: toEdge.url,
    };
    const anyPort = { GATEWAY_ADMIN_LISTEN: "127.0.0.1:0", GATEWAY_METRICS_LISTEN: "127.0.0.1:0" };
    const control = await start(commands.control, { ...ofControl, ...anyPort, ...ofBoth }, "listening");
    const adminUrl = new URL(String(control.message["admin"])).origin;
    const startEdge = async (folderOfIts: string, more: Variables) => {
      const own = {
        GATEWAY_DATA_DIR: folderOfIts,
        GATEWAY_PROXY_LISTEN: "127.0.0.1:0",
        GATEWAY_INTERNAL_BASE_URL: adminUrl,
      };
      const { plane, message } = await start(commands.edge, { ...own, ...more }, "ready");
      return { plane, proxyUrl: new URL(String(message["data_plane"])).origin };
    };
    const { plane: edge, proxyUrl } = await startEdge(dataDir, { ...ofEdge, ...ofBoth });
    edgeAddress = innerOf(proxyUrl);
    const metricsUrl = String(control.message["metrics"]);
    const now = { control: control.plane, edge };
    return {
      gateway: new Gateway({ proxyUrl, adminUrl, adminToken: ADMIN_TOKEN, metricsUrl }),
      adminUrl,
      metricsUrl,
      control: control.plane,
      edge,
      /** Ends a plane in order and starts it again at its address, with variables that replace those of `ofBoth`. */
      restart: async (which: "control" | "edge", more: Variables): Promise<void> => {
        await now[which].end();
        if (which === "control") {
          const listen = { GATEWAY_ADMIN_LISTEN: hostOf(adminUrl), GATEWAY_METRICS_LISTEN: hostOf(metricsUrl) };
          now.control = (await start(commands.control, { ...ofControl, ...listen, ...more }, "listening")).plane;
          return;
        }
        const started = await startEdge(dataDir, { ...ofEdge, ...more, GATEWAY_PROXY_LISTEN: hostOf(proxyUrl) });
        now.edge = started.plane;
      },
      /** Starts a further data plane with its own folder; the address at which it serves. */
      join: async (folderOfIts: string, more: Variables): Promise<string> =>
        (await startEdge(folderOfIts, more)).proxyUrl,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const hostOf = (url: string): string => new URL(url).host;

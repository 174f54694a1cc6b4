/**
 * The embedded analytics store as a separate process: `node main.ts` with GATEWAY_CLICKHOUSE_FOLDER, _PORT, _DB, _USER and
 * _PASSWORD; a missing database is created. Prints one line of JSON with its port when it listens. Ends on SIGTERM, and when
 * its parent has ended (the IPC channel or, without one, standard input closes).
 */
import { makePrivate } from "../../../control/db/private-folder.ts";
import { watchParent } from "../process/watch-parent.ts";
import { startClickhouseBridge } from "./bridge.ts";
import { openEngine } from "./engine.ts";
import { forgetUnfinishedInserts } from "./unfinished-inserts.ts";

const SESSIONS = 3;

const { GATEWAY_CLICKHOUSE_FOLDER: folder, GATEWAY_CLICKHOUSE_USER: user = "default" } = process.env;
const { GATEWAY_CLICKHOUSE_DB: database = "gateway" } = process.env;
const { GATEWAY_CLICKHOUSE_PASSWORD: password, GATEWAY_CLICKHOUSE_PORT: port = "0" } = process.env;

if (folder === undefined || !password) {
  process.stderr.write("GATEWAY_CLICKHOUSE_FOLDER and GATEWAY_CLICKHOUSE_PASSWORD are required\n");
  process.exit(1);
}
try {
  process.umask(0o077);
  makePrivate(folder);
  const forgotten = forgetUnfinishedInserts(folder);
  if (forgotten > 0) process.stdout.write(`${forgotten} inserts were cut off; they are awaited again\n`);
  const engine = openEngine(folder, SESSIONS);
  const sql = `CREATE DATABASE IF NOT EXISTS \`${database}\``;
  await engine.run({ sql, data: undefined, database: "default", format: "TabSeparated", settings: {}, params: {} });
  const bridge = await startClickhouseBridge({ engine, user, password, port: Number(port) });
  const stop = () => {
    void engine.close().finally(() => process.exit(0));
  };
  process.once("SIGTERM", stop);
  process.on("SIGINT", () => undefined); // A terminal signals the whole process group; the launcher decides when this process ends.
  watchParent(stop);
  process.stdout.write(`${JSON.stringify({ event: "listening", url: bridge.url })}\n`);
} catch (error) {
  process.stderr.write(`clickhouse: ${error instanceof Error ? error.message.split("\n")[0] : "cannot start"}\n`);
  process.exit(1);
}

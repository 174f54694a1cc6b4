/**
 * The project's bridge over ClickHouse's engine as a server of a container: `node clickhouse-main.ts` with the variables of
 * infra/local/clickhouse/main.ts. It listens on every address at ClickHouse's own port, and ends on SIGTERM.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { jsonLine } from "../../../infra/local/process/child.ts";
import { forward } from "./forward.ts";

const child = spawn(process.execPath, [join(import.meta.dirname, "../../../infra/local/clickhouse/main.ts")], {
  // it ends when its input does
  stdio: ["pipe", "pipe", "inherit"],
});
const exited = once(child, "exit");
process.once("SIGTERM", () => void child.kill("SIGTERM"));
createInterface({ input: child.stdout }).on("line", (line) => {
  process.stdout.write(`${line}\n`);
  const url = jsonLine(line)?.["url"];
  if (typeof url === "string") void forward("0.0.0.0", 8123, Number(new URL(url).port));
});
const [code] = (await exited) as [number | null];
process.exit(code ?? 1);

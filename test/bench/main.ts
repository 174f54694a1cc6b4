/**
 * `npm run bench`: what the gateway costs, as ratios of one interleaved run on one machine. Reports and asserts no figure;
 * a run in which a request failed or a row is missing is void and ends with code 1. Whatever ends it, it ends what it started.
 */
import { writeFileSync } from "node:fs";
import { readMachine } from "./machine.ts";
import { readOptions } from "./options.ts";
import { startPlaces } from "./places.ts";
import { closingLines, jsonOf } from "./report.ts";
import { run } from "./run.ts";

const options = readOptions(process.argv.slice(2));
const machine = readMachine();
const many = options.loads.some(({ tenants }) => tenants === "many") && options.targets.has("governed");
const starting = startPlaces(options.targets, many ? options.tenants : 0);
let closing: Promise<void> | undefined;
const close = async (): Promise<void> => {
  closing ??= starting.then(
    async (places) => await places.close(),
    () => undefined, // it has closed what it had started
  );
  await closing;
};
const stopped = (): void => void close().finally(() => process.exit(130));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stopped);
if (process.connected) process.once("disconnect", stopped);
try {
  const done = await run(options, await starting);
  for (const line of closingLines(done)) console.log(line);
  if (options.json !== undefined) writeFileSync(options.json, jsonOf(done, machine, options.mode));
  for (const problem of done.problems) console.error(`VOID: ${problem}`);
  process.exitCode = done.problems.length === 0 ? 0 : 1;
} catch (error) {
  if (closing === undefined) console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await close();
  process.removeListener("disconnect", stopped);
  if (process.connected) process.disconnect();
}

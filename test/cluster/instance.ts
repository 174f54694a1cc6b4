/**
 * One instance of a cluster as a process: `node instance.ts <time divisor>`. Prints its addresses as one line of JSON, and ends
 * with the test that started it.
 */
import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";

const { LD_PRELOAD, CLOCK_SKEW_SECS } = process.env;
if (LD_PRELOAD !== undefined) {
  // The stack gives its processes the variables that they need and no other; a wrong clock is that of the whole machine.
  const { spawn } = childProcess;
  const skewed = (command: string, args: readonly string[], options: childProcess.SpawnOptions) =>
    spawn(command, args, { ...options, env: { ...options.env, LD_PRELOAD, CLOCK_SKEW_SECS } });
  childProcess.spawn = skewed as typeof spawn;
  syncBuiltinESMExports();
}
const { startStack } = await import("../../infra/local/stack.ts");

const stack = await startStack({
  env: process.env,
  clusterTimeDivisor: Number(process.argv[2]),
  log: (line) => void process.stdout.write(`${line}\n`),
});
const { proxyUrl, adminUrl, metricsUrl, adminToken } = stack;
const ready = { event: "instance_ready", proxyUrl, adminUrl, metricsUrl, adminToken };
process.stdout.write(`${JSON.stringify(ready)}\n`);
process.once("SIGTERM", () => void stack.stop());
process.stdin.once("close", () => void stack.stop()).resume();
const failure = await stack.closed;
process.exit(failure === null ? 0 : 1);

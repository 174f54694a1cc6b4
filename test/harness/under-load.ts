/**
 * `node infra/launch.mjs test/harness/under-load.ts [--runs 5] [--loops 2] [--share 1] -- COMMAND...` runs a command several times
 * on a busy or slow machine. `--loops N` starts N processes that compute beside it at normal priority. `--share 0.2` gives the
 * command and its child processes together a fifth of all processors, by a control group, which only root on Linux can make.
 * Prints how each run ended. When a run fails, the exit code is 1 and the output of the runs is kept.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, openSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { endWith } from "../tiers/run-phases.ts";

const { values, positionals: command } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: "string", default: "5" },
    loops: { type: "string", default: "2" },
    share: { type: "string", default: "1" },
  },
});
const [runs, loops, share] = [Number(values.runs), Number(values.loops), Number(values.share)];
if (command.length === 0 || !(runs >= 1) || !(loops >= 0) || !(share > 0 && share <= 1)) {
  process.stderr.write("usage: test/harness/under-load.ts [--runs 5] [--loops 2] [--share 1] -- COMMAND...\n");
  process.exit(2);
}

const PERIOD_US = 100_000;
/** Control groups of version 2, or the controller for the processor of version 1. */
const IS_UNIFIED = existsSync("/sys/fs/cgroup/cgroup.controllers");
const GROUP = join("/sys/fs/cgroup", IS_UNIFIED ? "" : "cpu", `gateway-under-load-${process.pid}`);
/** Moves a shell into the group and becomes the command. */
const INTO_GROUP = ["sh", "-c", `echo $$ > ${GROUP}/cgroup.procs && exec "$@"`, "sh"];

const busy: readonly ChildProcess[] = Array.from({ length: loops }, () =>
  // It ends with this process, however that ends.
  spawn(
    process.execPath,
    [
      "-e",
      "process.on('disconnect', () => process.exit()); (function spin(){ const until = Date.now() + 50; while (Date.now() < until); setImmediate(spin); })()",
    ],
    {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    },
  ),
);
const folder = mkdtempSync(join(tmpdir(), "gateway-under-load-"));
let failures = 0;
try {
  if (share < 1) limitGroup();
  for (let run = 1; run <= runs; run += 1) failures += (await runOnce(run)) ? 0 : 1;
} finally {
  for (const loop of busy) loop.kill("SIGKILL");
  if (share < 1) rmdirSync(GROUP);
}
if (failures === 0) rmSync(folder, { recursive: true });
process.stdout.write(`${runs - failures} runs passed, ${failures} failed\n`);
endWith(failures === 0 ? 0 : 1);

function limitGroup(): void {
  mkdirSync(GROUP);
  const quotaUs = Math.round(share * availableParallelism() * PERIOD_US);
  const limits = IS_UNIFIED
    ? { "cpu.max": `${quotaUs} ${PERIOD_US}` }
    : { "cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": quotaUs };
  for (const [name, value] of Object.entries(limits)) writeFileSync(join(GROUP, name), `${value}`);
}

async function runOnce(run: number): Promise<boolean> {
  const startedMs = Date.now();
  const log = join(folder, `run-${run}.log`);
  const output = openSync(log, "w");
  const [program = "", ...args] = share < 1 ? [...INTO_GROUP, ...command] : command;
  const child = spawn(program, args, { stdio: ["ignore", output, output] });
  const [code] = (await once(child, "exit")) as [number | null];
  const secs = ((Date.now() - startedMs) / 1000).toFixed(0);
  process.stdout.write(`run ${run}: ${code === 0 ? "passed" : `failed, see ${log},`} after ${secs} s\n`);
  return code === 0;
}

/**
 * `npm run bench`: what the gateway costs, as ratios of one interleaved run on one machine. It reports figures and checks
 * none; a run in which a request failed or a row is missing is void and ends with exit code 1.
 */
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";
import { perRequest } from "./counting/cost.ts";
import { type Goal, goalsOf, isReached } from "./goals.ts";
import { type Options, readOptions } from "./options.ts";
import { PEERS } from "./peer.ts";
import { type BenchRun, run } from "./run.ts";
import { inSession } from "./session.ts";
import { ratesWithin, summaryOf } from "./summary.ts";

const require = createRequire(import.meta.url);

type Machine = ReturnType<typeof readMachine>;

/** Reads it; must be called before anything is started. */
function readMachine() {
  return {
    at: new Date().toISOString(),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: `${process.platform} ${release()}`,
    node: process.version,
    workerd: (require("workerd/package.json") as { version: string }).version,
    peers: PEERS.map(({ title }) => title),
    /**
     * Processes that wanted the CPU before the run began, mean of a minute: the work of other processes makes figures
     * useless.
     */
    loadBefore: loadavg()[0] ?? 0,
  };
}

const shown = (value: number, digits: number): string => (Number.isNaN(value) ? "-" : value.toFixed(digits));

/** The goals, with the operations of the load with the most requests at once. */
function goalsOfRun({ all, counted }: BenchRun): readonly Goal[] {
  const operations = counted.at(-1)?.operations;
  return goalsOf(all, operations === undefined ? null : perRequest(operations, Number.NaN));
}

function goalLine(goal: Goal): string {
  const { what, value, atLeast, atMost } = goal;
  const bound = atLeast === undefined ? `<= ${atMost}` : `>= ${atLeast}`;
  const verdict = isReached(goal) === true ? "reached" : "missed";
  return `  ${what.padEnd(48)}${shown(value ?? Number.NaN, 2).padStart(9)}  ${bound.padEnd(9)}${verdict}`;
}

function closingLines(run: BenchRun): readonly string[] {
  const rates = Object.entries(ratesWithin(run.all)).map(([target, within]) => {
    const cells = Object.values(within).map((rps) => (rps === null ? "-" : rps.toFixed(0)).padStart(8));
    return `  ${target.padEnd(9)}${cells.join("")}`;
  });
  const goals = goalsOfRun(run).filter((goal) => isReached(goal) !== null);
  const summary = Object.entries(summaryOf(run.all)).map(
    ([name, value]) => `  ${name.padEnd(38)}${value === null ? "-" : value.toFixed(3)}`,
  );
  return [
    ...(rates.length === 0
      ? []
      : ["requests a second with a corrected p99 within 5, 10 and 50 ms, of those measured:"]),
    ...rates,
    "",
    ...(run.notes.length === 0 ? [] : [...run.notes.map((note) => `note: ${note}`), ""]),
    ...(goals.length === 0 ? [] : ["goals", ...goals.map(goalLine), ""]),
    "summary",
    ...summary,
  ];
}

function jsonOf(run: BenchRun, machine: Machine, { mode, tenants }: Pick<Options, "mode" | "tenants">): string {
  const { all, counted, notes, problems } = run;
  const loads = all.map(({ load, figures }) => ({ ...load, figures }));
  const goals = goalsOfRun(run).map((goal) => ({ ...goal, reached: isReached(goal) }));
  const report = {
    summary: summaryOf(all),
    machine,
    mode,
    tenants,
    notes,
    problems,
    goals,
    rates: ratesWithin(all),
    counted,
    loads,
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}

const options = readOptions(process.argv.slice(2));
const machine = readMachine();
const many = options.loads.some(({ tenants }) => tenants === "many");
const targets = new Set(options.targets);
// The `workers` target needs a second whole stack, so it is started only when a load needs it.
if (!options.loads.some((load) => load.targets.includes("workers"))) targets.delete("workers");
await inSession({ targets, tenants: many ? options.tenants : 0 }, async (places) => {
  const done = await run(options, places);
  for (const line of closingLines(done)) console.log(line);
  if (options.json !== undefined) writeFileSync(options.json, jsonOf(done, machine, options));
  return done.problems;
});

/**
 * `npm run bench`: what the gateway costs, as ratios of one interleaved run on one machine. Reports and asserts no figure;
 * a run in which an upstream failed or a row is missing is void and ends with code 1.
 */
import { writeFileSync } from "node:fs";
import { figuresOf } from "./figures.ts";
import type { Load } from "./loads.ts";
import { readMachine } from "./machine.ts";
import { runLoad } from "./measure.ts";
import { type Options, readOptions } from "./options.ts";
import { type Places, startPlaces } from "./places.ts";
import { planFor } from "./plan.ts";
import { type Measured, ratesWithin, summaryOf } from "./summary.ts";
import { tableOf } from "./table.ts";

/** Kept of the time for the ledger to take the last rows and for everything to end. */
const ENDING_MS = 10_000;

const leftMs = ({ withinMs }: Options): number => withinMs - performance.now();

/** Runs every load that is wanted and says what came of it. */
async function measureAll(options: Options, { generator, governed, targets }: Places): Promise<readonly Measured[]> {
  const targetsOf = (load: Load) => load.targets.flatMap((name) => targets.get(name) ?? []);
  const wanted = options.loads.filter((load) => targetsOf(load).length > 0);
  const counted = wanted.map((load) => ({ load, targets: targetsOf(load).length }));
  const plan = planFor(counted, options.pace, leftMs(options) - ENDING_MS);
  const all: Measured[] = [];
  for (const load of wanted) {
    if (leftMs(options) < ENDING_MS + load.onceMs) {
      console.log(`${load.name}: skipped, the time is over\n`);
      continue;
    }
    if (load.slots !== null) await governed?.setSlots(load.slots);
    const untilMs = performance.now() + leftMs(options) - ENDING_MS;
    const samples = await runLoad(generator, load, targetsOf(load), { ...plan(load), untilMs });
    if (load.slots !== null) await governed?.setSlots(null);
    const figures = targetsOf(load).map(({ name }) => figuresOf(samples, name));
    console.log(`${tableOf(load, figures)}\n`);
    all.push({ load, figures });
  }
  return all;
}

/** What makes a run void: requests that failed, and rows that are missing or there twice. */
async function problemsOf(all: readonly Measured[], governed: Places["governed"]): Promise<readonly string[]> {
  const failed = all.flatMap(({ load, figures }) =>
    figures.flatMap(({ target, failures }) =>
      Object.entries(failures).map(([what, count]) => `${load.name}, ${target}: ${count} x ${what}`),
    ),
  );
  if (governed === null) return failed;
  const own = all.flatMap(({ figures }) => figures.filter(({ target }) => target === "governed" || target === "front"));
  const sent = own.reduce((sum, figures) => sum + figures.sent, 0);
  const rows = await governed.rows(sent);
  console.log(`the gateway was sent ${sent} requests; the ledger has ${rows} rows`);
  return rows === sent ? failed : [...failed, `${sent} requests of the gateway, ${rows} rows in the ledger`];
}

async function bench(options: Options, places: Places): Promise<readonly string[]> {
  const machine = readMachine();
  for (const note of places.notes) console.log(`${note}\n`);
  const all = await measureAll(options, places);
  const problems = await problemsOf(all, places.governed);
  const [summary, rates] = [summaryOf(all), ratesWithin(all)];
  console.log("requests a second with a p99 (corrected) within 5, 10 and 50 ms, among the concurrencies measured:");
  for (const [target, within] of Object.entries(rates))
    console.log(
      `  ${target.padEnd(9)}${Object.values(within)
        .map((rps) => (rps?.toFixed(0) ?? "-").padStart(8))
        .join("")}`,
    );
  console.log("summary");
  for (const [name, value] of Object.entries(summary)) console.log(`  ${name.padEnd(26)}${value?.toFixed(3) ?? "-"}`);
  if (options.json !== undefined) {
    const loads = all.map(({ load, figures }) => ({ ...load, figures }));
    const report = { summary, machine, mode: options.mode, notes: places.notes, problems, rates, loads };
    writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  }
  return problems;
}

const options = readOptions(process.argv.slice(2));
const many = options.loads.some(({ tenants }) => tenants === "many") && options.targets.has("governed");
const starting = startPlaces(options.targets, many ? options.tenants : 0);
let closing: Promise<void> | undefined;
const close = async (): Promise<void> => {
  closing ??= starting.then(async (places) => await places.close()).catch(() => undefined);
  await closing;
};
const stopped = (): void => void close().finally(() => process.exit(130));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stopped);
if (process.connected) process.once("disconnect", stopped);
try {
  const problems = await bench(options, await starting);
  for (const problem of problems) console.error(`VOID: ${problem}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} catch (error) {
  if (closing === undefined) console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await close();
}
if (process.connected) process.disconnect();

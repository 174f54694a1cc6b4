/**
 * `npm run bench`: what the gateway costs, as ratios of one interleaved run on one machine. Reports and asserts no figure;
 * a run in which an upstream failed or a row is missing is void and ends with code 1.
 */
import { writeFileSync } from "node:fs";
import { figuresOf } from "./figures.ts";
import type { Load } from "./loads.ts";
import { runLoad, type Sample } from "./measure.ts";
import { readOptions } from "./options.ts";
import { type Places, startPlaces } from "./places.ts";
import { tableOf } from "./table.ts";

const options = readOptions(process.argv.slice(2));
let places: Places | undefined;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.once(signal, () => void (places?.close() ?? Promise.resolve()).finally(() => process.exit(130)));

async function run({ generator, governed, targets }: Places): Promise<readonly string[]> {
  const problems: string[] = [];
  const all: { load: Load; figures: unknown }[] = [];
  let expectedRows = 0;
  for (const load of options.loads) {
    const wanted = load.targets.flatMap((name) => targets.get(name) ?? []);
    if (wanted.length === 0) continue;
    const samples: readonly Sample[] = await runLoad(generator, load, wanted, {
      ...options.plan,
      untilMs: options.untilMs,
    });
    const figures = wanted.map(({ name }) => figuresOf(samples, name));
    console.log(`${tableOf(load, figures)}\n`);
    all.push({ load, figures });
    for (const { target, sent, failures } of figures) {
      if (target === "governed" || target === "front") expectedRows += sent;
      for (const [what, count] of Object.entries(failures))
        problems.push(`${load.name}, ${target}: ${count} x ${what}`);
    }
  }
  if (governed !== null) {
    const rows = await governed.rows(expectedRows);
    console.log(`${expectedRows} requests of the gateway, ${rows} rows in the ledger`);
    if (rows !== expectedRows)
      problems.push(`the gateway was sent ${expectedRows} requests and the ledger has ${rows} rows`);
  }
  if (options.json !== undefined) writeFileSync(options.json, JSON.stringify({ loads: all, problems }, null, 2));
  return problems;
}

try {
  places = await startPlaces(
    options.targets,
    options.loads.some(({ tenants }) => tenants === "many") ? options.tenants : 0,
  );
  const problems = await run(places);
  for (const problem of problems) console.error(`VOID: ${problem}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  await places?.close();
}

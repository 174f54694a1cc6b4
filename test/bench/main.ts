/**
 * `npm run bench`: what the gateway costs, as ratios of one interleaved run on one machine. It reports figures and checks
 * none; a run in which a request failed or a row is missing is void and ends with exit code 1.
 */
import { writeFileSync } from "node:fs";
import { readMachine } from "./machine.ts";
import { readOptions } from "./options.ts";
import { closingLines, jsonOf } from "./report.ts";
import { run } from "./run.ts";
import { inSession } from "./session.ts";

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

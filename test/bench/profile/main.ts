/**
 * `npm run bench:profile -- c32 [--seconds 5] [--out FILE.cpuprofile]`: how the Worker and its objects spend their time
 * under one load of the bench; for a load with several Worker processes, how the process with the objects does. Prints the
 * functions that took most of the time, per request; the file can be opened in browsers' developer tools.
 * An inspector makes log lines expensive, because each line is sent to it as well.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { withInspector } from "../../harness/inspector.ts";
import { LOADS } from "../loads.ts";
import { inSession } from "../session.ts";
import { sliceOf, warmUpOf } from "../targets.ts";
import { type CpuProfile, functionTimes } from "./self-time.ts";

/** V8's sampling interval. */
const EVERY_US = 200;

/** Profiles the worker called `name` while `work` runs. Throws when the inspector does not know that worker or refuses. */
async function profileDuring(url: string, name: string, work: () => Promise<void>): Promise<CpuProfile> {
  return await withInspector(url, name, async (send) => {
    await send("Profiler.enable");
    await send("Profiler.setSamplingInterval", { interval: EVERY_US });
    await send("Profiler.start");
    await work();
    return ((await send("Profiler.stop")) as { profile: CpuProfile }).profile;
  });
}

const SHOWN = 45;
const WARM_MS = 3000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: "string", default: "5" }, out: { type: "string" } },
});
const [name = "c32"] = positionals;
const load = LOADS.find((each) => each.name === name);
const seconds = Number(values.seconds);
if (load === undefined || !(seconds > 0)) {
  console.error(`usage: npm run bench:profile -- LOAD [--seconds 5] [--out FILE.cpuprofile]`);
  console.error(`loads: ${LOADS.map((each) => each.name).join(", ")}`);
  process.exit(2);
}

const profiled = load.targets.includes("workers") ? "workers" : "governed";
const wanted = { targets: new Set([profiled] as const), tenants: load.tenants === "many" ? 100 : 0, inspect: true };
await inSession(wanted, async ({ generator, governed, workers, targets }) => {
  const target = targets.get(profiled);
  const inspector = (workers ?? governed)?.stack.inspectorUrl() ?? null;
  if (target === undefined || inspector === null) throw new Error("the gateway cannot be looked into");
  await generator.call(warmUpOf(load, target, WARM_MS));
  let requests = 0;
  const problems: string[] = [];
  const profile = await profileDuring(inspector, "gateway", async () => {
    const { sent, failures } = await generator.call(sliceOf(load, target, 1000 * seconds));
    requests = sent;
    problems.push(...Object.entries(failures).map(([what, count]) => `${count} x ${what}`));
  });
  const times = functionTimes(profile);
  console.log(
    `${requests} requests; microseconds of the JavaScript thread for each\n    self    total  function:line of the bundle`,
  );
  const each = (ms: number): string => ((1000 * ms) / requests).toFixed(1).padStart(8);
  for (const time of times.slice(0, SHOWN)) console.log(`${each(time.selfMs)} ${each(time.totalMs)}  ${time.name}`);
  if (values.out !== undefined) writeFileSync(values.out, JSON.stringify(profile));
  return problems;
});

/**
 * `npm run bench:soak [-- --minutes 10 --json FILE]`: whether the gateway's memory and throughput stay the same under a
 * continuous load of whole answers and streams in turns, as fast as they come. Reports the memory of the runtime over time,
 * its slope after the first two minutes, and the throughput of the first and of the last minutes; a failed request or a
 * lost row makes it void. `npm run test:area -- soak` is the one that can fail: there clients and upstreams leave at random, and
 * slots are counted.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { median } from "../soak/memory.ts";
import { figuresOf } from "./figures.ts";
import { LOADS } from "./loads.ts";
import { readMachine } from "./machine.ts";
import { runLoad, type Sample } from "./measure.ts";
import type { Places } from "./places.ts";
import { memoryMbOf } from "./process-usage.ts";
import { inSession } from "./session.ts";
import { type SlopeReading, slopePerMinute } from "./slope.ts";

const SETTLED_AFTER_MS = 120_000;
const TURN_MS = 5_000;
const NAMES = ["c32", "stream-asked", "stream-withheld", "cache"];

const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" }, json: { type: "string" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) {
  console.error("usage: npm run bench:soak -- [--minutes 10] [--json FILE]");
  process.exit(2);
}

/** The throughput of a load within a part of the time. */
function rpsOf(samples: readonly Sample[], name: string, from: number, to: number): number {
  const own = samples.filter(({ load, round }) => load.name === name && round >= 0);
  const part = own.slice(Math.floor(own.length * from), Math.ceil(own.length * to));
  return median(part.map(({ result }) => (1000 * result.endedWell) / result.elapsedMs));
}

async function soak({ generator, governed, targets }: Places): Promise<readonly string[]> {
  const target = targets.get("governed");
  if (governed === null || target === undefined || target.pid === null) throw new Error("there is no gateway");
  const loads = LOADS.filter(({ name }) => NAMES.includes(name));
  const startedMs = performance.now();
  const readings: SlopeReading[] = [];
  const samples: Sample[] = [];
  const once = { rounds: 1, sliceMs: TURN_MS, warmMs: 0, untilMs: Number.POSITIVE_INFINITY };
  while (performance.now() - startedMs < 60_000 * minutes) {
    for (const load of loads) {
      samples.push(...(await runLoad(generator, load, [target], once)));
      const atMs = performance.now() - startedMs;
      const mb = memoryMbOf(target.pid);
      if (mb !== null) readings.push({ atMs, value: mb });
    }
    const last = readings.at(-1);
    if (last !== undefined) console.log(`${(last.atMs / 60_000).toFixed(1)} min: ${last.value.toFixed(0)} MB`);
  }
  const settled = readings.filter(({ atMs }) => atMs > Math.min(SETTLED_AFTER_MS, (60_000 * minutes) / 2));
  const slope = slopePerMinute(settled);
  const sent = samples.reduce((sum, { result }) => sum + result.sent, 0);
  const rows = await governed.rows(sent);
  const drift = loads.map(({ name }) => {
    const figures = figuresOf(
      samples.filter(({ load }) => load.name === name),
      "governed",
    );
    return {
      load: name,
      firstRps: rpsOf(samples, name, 0, 0.2),
      lastRps: rpsOf(samples, name, 0.8, 1),
      p99Ms: figures.latencyMs.p99,
      failures: figures.failures,
    };
  });
  for (const { load, firstRps, lastRps, p99Ms } of drift)
    console.log(
      `${load}: ${firstRps.toFixed(0)} a second in the first fifth, ${lastRps.toFixed(0)} in the last; p99 ${p99Ms.toFixed(1)} ms`,
    );
  console.log(
    `memory after the first two minutes: ${slope === null ? "not known" : `${slope.toFixed(2)} MB a minute`}`,
  );
  console.log(`${sent} requests, ${rows} rows in the ledger`);
  const failed = drift.flatMap(({ load, failures }) =>
    Object.entries(failures).map(([what, count]) => `${load}: ${count} x ${what}`),
  );
  const problems = rows === sent ? failed : [...failed, `${sent} requests, ${rows} rows`];
  if (values.json !== undefined) {
    const report = { machine: readMachine(), minutes, slopeMbPerMinute: slope, sent, rows, problems, drift, readings };
    writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
  }
  return problems;
}

await inSession({ targets: new Set(["governed"]), tenants: 0 }, soak);

/**
 * One run of the bench from the first load to the last count. It measures and collects; whatever makes a run void is
 * reported, never left out.
 */

import { plainTable } from "../harness/text-table.ts";
import { type Counted, countOperations } from "./counting/count.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { type Load, OF_ONE_PROCESS } from "./loads.ts";
import { runLoad } from "./measure.ts";
import type { Options } from "./options.ts";
import type { Places } from "./places.ts";
import { planFor } from "./plan.ts";
import type { Spread } from "./spread.ts";
import type { Measured } from "./summary.ts";
import { sentTo, sentToGateway, voidReasons } from "./void.ts";

/** A column: its head, and the text below it. */
type Column = readonly [head: string, show: (figures: Figures) => string];

const number = (value: number | null | undefined, digits: number): string =>
  value === null || value === undefined || Number.isNaN(value) ? "-" : value.toFixed(digits);
const spread = (of: Spread | null, digits: number): string =>
  of === null ? "-" : `${of.median.toFixed(digits)} (${of.min.toFixed(digits)}-${of.max.toFixed(digits)})`;

const ALWAYS: readonly Column[] = [
  ["rps", ({ rps }) => spread(rps, 0)],
  ["/ floor", ({ overFloor }) => spread(overFloor, 2)],
  ["/ peer", ({ overPeer }) => spread(overPeer, 2)],
  ["p50 ms", ({ latencyMs }) => number(latencyMs.p50, 2)],
  ["p99", ({ latencyMs }) => number(latencyMs.p99, 2)],
  ["corrected", ({ correctedMs }) => number(correctedMs.p99, 2)],
  ["added p50", ({ addedP50Ms }) => number(addedP50Ms?.median, 2)],
  ["p99", ({ addedMs }) => number(addedMs?.p99, 2)],
  ["p99.9", ({ addedMs }) => number(addedMs?.p999, 2)],
  ["CPU ms/req", ({ cpuMsPerRequest }) => number(cpuMsPerRequest?.median, 3)],
  ["beside", ({ besideCpuMsPerRequest }) => number(besideCpuMsPerRequest?.median, 3)],
  ["peak MB", ({ peakMb }) => number(peakMb, 0)],
];

const OF_STREAMS: readonly Column[] = [
  ["first p50", ({ firstMs }) => number(firstMs?.p50, 2)],
  ["p99", ({ firstMs }) => number(firstMs?.p99, 2)],
  ["added p50", ({ addedFirstMs }) => number(addedFirstMs?.p50, 2)],
  ["gap p50", ({ gapMs }) => number(gapMs?.p50, 2)],
  ["p99", ({ gapMs }) => number(gapMs?.p99, 2)],
  ["longest", ({ longestGapMs }) => number(longestGapMs, 0)],
];

/** The table of a load; `all` in the order of its targets. */
function tableOf(load: Load, all: readonly Figures[]): string {
  const columns = [...ALWAYS, ...(load.reading === "whole" ? [] : OF_STREAMS)];
  const rows = [
    ["", ...columns.map(([head]) => head)],
    ...all.map((figures) => [figures.target, ...columns.map(([, show]) => show(figures))]),
  ];
  const rounds = all.map((figures) => figures.rounds);
  const table = plainTable(rows).replaceAll(/^/gm, "  ");
  return `${load.name}: ${load.title} (${Math.min(...rounds)} rounds)\n${table}`;
}

/** The part of the time that is kept for the ledger to take the last rows, and for everything to end. */
const ENDING_MS = 8_000;
const COUNTING_MS = 15_000;

export type BenchRun = Awaited<ReturnType<typeof run>>;

async function measureAll(options: Options, places: Places, untilMs: number, notes: string[]): Promise<Measured[]> {
  const { generator, governed, targets } = places;
  const targetsOf = (load: Load) => load.targets.flatMap((name) => targets.get(name) ?? []);
  const wanted = options.loads.filter((load) => targetsOf(load).length > 0);
  const counts = wanted.map((load) => ({ load, targets: targetsOf(load).length }));
  const plan = planFor(counts, options.pace, untilMs - performance.now());
  const all: Measured[] = [];
  for (const load of wanted) {
    if (performance.now() + load.onceMs > untilMs) {
      notes.push(`${load.name} was left out: the time was over`);
      continue;
    }
    if (load.slots !== null) await governed?.setSlots(load.slots);
    const samples = await runLoad(generator, load, targetsOf(load), { ...plan(load), untilMs });
    if (load.slots !== null) await governed?.setSlots(null);
    const figures = targetsOf(load).map(({ name }) => figuresOf(samples, name));
    console.log(`${tableOf(load, figures)}\n`);
    all.push({ load, figures });
  }
  return all;
}

/** Runs what the options ask for, and prints each load's table as soon as it is complete. */
export async function run(options: Options, places: Places) {
  const counts = options.counts && places.governed !== null;
  const untilMs = options.withinMs - ENDING_MS - (counts ? COUNTING_MS : 0);
  const notes = [...places.notes];
  const all = await measureAll(options, places, untilMs, notes);
  const sent = sentToGateway(all);
  const ledgers = [
    await places.governed?.rows(sentTo(all, OF_ONE_PROCESS)),
    await places.workers?.rows(sentTo(all, ["workers"])),
  ].filter((rows) => rows !== undefined);
  const rows = ledgers.length === 0 ? null : ledgers.reduce((sum, each) => sum + each);
  if (rows !== null) console.log(`the gateway was sent ${sent} requests; the ledger has ${rows} rows\n`);
  let counted: readonly Counted[] = [];
  if (counts) {
    await Promise.all([places.governed?.stack.stop(), places.workers?.stack.stop()]);
    counted = await countOperations(places);
  }
  /** `notes`: which parts were missing; the other results are valid without them. `problems`: why the run is void. */
  return { all, counted, notes, problems: voidReasons(all, rows) };
}

/** The report as text: one block per load, one line per target. Pure. */
import { plainTable } from "../harness/text-table.ts";
import type { Figures } from "./figures.ts";
import type { Load } from "./loads.ts";
import type { Spread } from "./spread.ts";

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
export function tableOf(load: Load, all: readonly Figures[]): string {
  const columns = [...ALWAYS, ...(load.reading === "whole" ? [] : OF_STREAMS)];
  const rows = [
    ["", ...columns.map(([head]) => head)],
    ...all.map((figures) => [figures.target, ...columns.map(([, show]) => show(figures))]),
  ];
  const rounds = all.map((figures) => figures.rounds);
  const table = plainTable(rows).replaceAll(/^/gm, "  ");
  return `${load.name}: ${load.title} (${Math.min(...rounds)} rounds)\n${table}`;
}

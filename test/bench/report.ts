/** The report of a run: the last lines on the terminal, and all results as JSON. */
import { type Cost, costOfMillion, type PerRequest, PRICES, perRequest } from "./counting/cost.ts";
import { type Goal, goalsOf, isReached } from "./goals.ts";
import type { Machine } from "./machine.ts";
import type { Options } from "./options.ts";
import type { BenchRun } from "./run.ts";
import { ratesWithin, summaryOf } from "./summary.ts";

/** At this rate a million requests keep the objects awake for the time that the cost assumes. */
const COST_RPS = 100;

interface Priced {
  readonly concurrency: number;
  readonly perRequest: PerRequest;
  readonly objectCalls: Readonly<Record<string, number>>;
  readonly perMillion: Cost;
}

/** The operations of each counted load, with the CPU time that was measured for the same load. */
function priced({ all, counted }: BenchRun): readonly Priced[] {
  return counted.flatMap(({ concurrency, operations }) => {
    const measured = all.find(({ load }) => load.name === `c${concurrency}`);
    const cpu = measured?.figures.find(({ target }) => target === "governed")?.cpuMsPerRequest?.median ?? Number.NaN;
    const each = perRequest(operations, cpu);
    const { objectCalls, objects } = operations;
    return { concurrency, perRequest: each, objectCalls, perMillion: costOfMillion(each, objects, COST_RPS) };
  });
}

const shown = (value: number, digits: number): string => (Number.isNaN(value) ? "-" : value.toFixed(digits));

function costLines(all: readonly Priced[]): readonly string[] {
  if (all.length === 0) return [];
  const lines = all.map(({ concurrency, perRequest: each, perMillion: cost }) =>
    [
      `  ${concurrency} at once: ${shown(each.objectRequests, 2)} object requests, ${shown(each.rowsWritten, 2)} rows written,`,
      `${shown(each.cpuMs, 2)} ms CPU a request = ${shown(cost.totalUsd, 2)} USD (requests ${shown(cost.requestsUsd, 2)},`,
      `CPU ${shown(cost.cpuUsd, 2)}, object requests ${shown(cost.objectRequestsUsd, 2)}, rows ${shown(cost.rowsWrittenUsd + cost.rowsReadUsd, 2)},`,
      `objects awake ${shown(cost.objectDurationUsd, 2)})`,
    ].join(" "),
  );
  return [
    `a million requests on Cloudflare at prices looked up in ${PRICES.lookedUp}, at ${COST_RPS} a second:`,
    ...lines,
    "",
  ];
}

/** The goals, with the operations of the load with the most requests at once. */
const goalsOfRun = (run: BenchRun): readonly Goal[] => goalsOf(run.all, priced(run).at(-1)?.perRequest ?? null);

function goalLine(goal: Goal): string {
  const { what, value, atLeast, atMost } = goal;
  const bound = atLeast === undefined ? `<= ${atMost}` : `>= ${atLeast}`;
  const verdict = isReached(goal) === true ? "reached" : "missed";
  return `  ${what.padEnd(48)}${shown(value ?? Number.NaN, 2).padStart(9)}  ${bound.padEnd(9)}${verdict}`;
}

export function closingLines(run: BenchRun): readonly string[] {
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
    ...costLines(priced(run)),
    ...(run.notes.length === 0 ? [] : [...run.notes.map((note) => `note: ${note}`), ""]),
    ...(goals.length === 0 ? [] : ["goals", ...goals.map(goalLine), ""]),
    "summary",
    ...summary,
  ];
}

export function jsonOf(run: BenchRun, machine: Machine, { mode, tenants }: Pick<Options, "mode" | "tenants">): string {
  const { all, notes, problems } = run;
  const loads = all.map(({ load, figures }) => ({ ...load, figures }));
  const cost = { prices: PRICES, rps: COST_RPS, counted: priced(run) };
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
    cost,
    loads,
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}

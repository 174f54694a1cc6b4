/**
 * `npm run bench:platform-costs`: what a million requests cost on Cloudflare, from operations that are counted on a stack of its own
 * (docs/platform-costs.md#counted). Prints two tables of Markdown: what was counted, and what it costs.
 */
import { markdownTable } from "../harness/text-table.ts";
import { type Cost, costOfMillion, PRICES, perRequest } from "./counting/cost.ts";
import { type Counted, type CountedLoad, countOperations } from "./counting/count.ts";
import { inSession } from "./session.ts";

/** The rate over which the time that the objects are awake is spread, unless a load has a rate of its own. */
const BUSY_RPS = 100;

/** What is counted, with the name that it has in the tables. */
const LOADS: readonly (CountedLoad & { readonly title: string })[] = [
  { title: "one request a second", load: "c1", requests: 40, everyMs: 1000 },
  { title: "one after another", load: "c1", requests: 300, everyMs: null },
  { title: "32 at once", load: "c32", requests: 3000, everyMs: null },
  { title: "16 streams at once", load: "stream-asked", requests: 1000, everyMs: null },
  { title: "32 at once, 20 % from the response cache", load: "cache", requests: 2000, everyMs: null },
];

const titleOf = ({ of }: Counted): string => LOADS.find((load) => load === of)?.title ?? of.load;

const isAlarm = (call: string): boolean => call.endsWith(".alarm");

const cell = (value: number, digits: number): string => (Number.isNaN(value) ? "-" : value.toFixed(digits));

function countedRow(counted: Counted): readonly string[] {
  const { operations, cpuMs } = counted;
  const { requests, objectCalls, rowsWritten, rowsRead, subrequests } = operations;
  const alarms = Object.entries(objectCalls).reduce((sum, [call, count]) => sum + (isAlarm(call) ? count : 0), 0);
  const calls = Object.values(objectCalls).reduce((sum, count) => sum + count, 0) - alarms;
  const each = [calls, alarms, rowsWritten, rowsRead, subrequests].map((count) => cell(count / requests, 3));
  return [titleOf(counted), String(requests), ...each, cell(cpuMs ?? Number.NaN, 2)];
}

function costRow(counted: Counted): readonly string[] {
  const { operations, cpuMs, of } = counted;
  const rps = of.everyMs === null ? BUSY_RPS : 1000 / of.everyMs;
  const each = perRequest(operations, cpuMs ?? Number.NaN);
  const cost: Cost = costOfMillion(each, operations.objects, rps);
  const parts = [
    cost.requestsUsd,
    cost.cpuUsd,
    cost.objectRequestsUsd,
    cost.rowsWrittenUsd,
    cost.rowsReadUsd,
    cost.objectDurationUsd,
    cost.totalUsd,
  ];
  return [titleOf(counted), String(rps), ...parts.map((usd) => cell(usd, 3))];
}

await inSession({ targets: new Set(), tenants: 0 }, async (places) => {
  const counted = await countOperations(places, LOADS);
  const heads = ["load", "requests", "object calls", "alarms", "rows written", "rows read", "subrequests", "CPU ms"];
  console.log(`counted, of each request\n\n${markdownTable(heads, counted.map(countedRow))}`);
  const parts = ["requests", "CPU", "object calls", "rows written", "rows read", "objects awake", "together"];
  const costs = markdownTable(["load", "a second", ...parts], counted.map(costRow));
  console.log(`\nUSD for a million requests, at prices of ${PRICES.lookedUp}\n\n${costs}`);
  for (const one of counted) console.log(`\n${titleOf(one)}: ${JSON.stringify(one.operations.objectCalls)}`);
  return [];
});

/**
 * `npm run simulate [-- --seed n]`: prints how far the scheduler's shares are from fair ones, load by load.
 * `npm run simulate -- <scenario> [--seed n]`: prints what the scheduler does with a scenario. Every run uses another seed
 * and prints it; SIMULATION_SEED sets it too.
 */
import { parseArgs } from "node:util";
import { plainTable } from "../harness/text-table.ts";
import { measure, type Report } from "./measure.ts";
import { runScenario } from "./run.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";
import { simulationSeed } from "./seed.ts";
import { shareErrorTable } from "./share-errors.ts";

const percent = (value: number): string => `${(100 * value).toFixed(2)} %`;

function print(scenario: Scenario, seed: number, report: Report): string {
  const shared = ({ id, requests, share, entitled }: Report["sets"][0]) => [
    id,
    requests,
    percent(share),
    percent(entitled),
  ];
  const tenants = report.tenants.map((row) => [...shared(row), row.waitP50Ms.toFixed(0), row.waitP99Ms.toFixed(0)]);
  const unit = scenario.algorithm === "weighted" ? "served tokens" : "slot time";
  const heads = ["requests", "share", "entitled"];
  return [
    `${scenario.name}: ${scenario.title}`,
    `${scenario.algorithm}, ${scenario.slots} slots, ${scenario.endMs / 1000} s, seed ${seed}; shares of ${unit}`,
    "",
    plainTable([["tenant", ...heads, "wait p50 ms", "wait p99 ms"], ...tenants]),
    "",
    plainTable([["set", ...heads], ...report.sets.map(shared)]),
    "",
    `utilisation ${percent(report.utilisation)}, Jain index ${report.jain.toFixed(4)}, ` +
      `${convergence(report.convergeMs)}, ` +
      `still queued ${report.leftQueued}`,
  ].join("\n");
}

function convergence(convergeMs: Report["convergeMs"]): string {
  if (convergeMs === "unasked") return "a tenant does not always have requests waiting";
  return convergeMs === null ? "never within 10 % for good" : `within 10 % for good after ${convergeMs / 1000} s`;
}

function fail(message: string): never {
  process.stderr.write(`${message}\nscenarios: ${SCENARIOS.map((scenario) => scenario.name).join(", ")}\n`);
  process.exit(2);
}

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seed: { type: "string" } },
  });
  const [name] = positionals;
  const seed = values.seed === undefined ? simulationSeed() : Number(values.seed);
  if (!Number.isSafeInteger(seed)) fail("--seed must be an integer");
  if (name === undefined) {
    process.stdout.write(`Distance from weighted max-min shares, seed ${seed}\n\n${shareErrorTable(seed)}\n\n`);
    process.stdout.write(`scenarios: ${SCENARIOS.map((known) => known.name).join(", ")}\n`);
    return;
  }
  const scenario = SCENARIOS.find((known) => known.name === name) ?? fail(`no scenario ${JSON.stringify(name)}`);
  process.stdout.write(`${print(scenario, seed, measure(scenario, runScenario(scenario, seed)))}\n`);
}

main();

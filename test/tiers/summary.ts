/** The tables that a tier prints at its end. */
import { existsSync, readFileSync } from "node:fs";
import type { FileReport } from "./report.ts";
import { type StepResult, seconds } from "./run-phases.ts";

const SLOWEST = 20;

/** Every test file that vitest has run; none when no step runs vitest. */
export function readReports(path: string): readonly FileReport[] {
  if (!existsSync(path)) return [];
  const runs = readFileSync(path, "utf8").split("\n").filter(Boolean);
  return runs.flatMap((run) => JSON.parse(run) as FileReport[]);
}

/** The steps, the slowest files, what failed and why, and a last line with the number of tests, which CI reads. */
export function summary(steps: readonly StepResult[], files: readonly FileReport[]): string {
  const slowest = files.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, SLOWEST);
  const failed = files.flatMap(({ file, failures }) => failures.map((failure) => ({ file, ...failure })));
  const passed = files.reduce((sum, file) => sum + file.passed, 0);
  return [
    ...steps.map(({ name, outcome, durationMs }) =>
      row(durationMs, outcome === "passed" ? name : `${name}  ${outcome}`),
    ),
    ...(slowest.length === 0 ? [] : ["", "the slowest files:"]),
    ...slowest.map(({ project, file, durationMs }) => row(durationMs, `${project.padEnd(10)} ${file}`)),
    ...(failed.length === 0 ? [] : ["", "what failed:"]),
    ...failed.map(({ file, title, error }) => `${file} > ${title}\n${error.replaceAll(/^/gm, "    ")}`),
    "",
    `${passed} passed, ${failed.length} failed`,
  ].join("\n");
}

function row(durationMs: number, what: string): string {
  return `${seconds(durationMs).padStart(5)} s  ${what}`;
}

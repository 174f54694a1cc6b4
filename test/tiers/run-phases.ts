/**
 * Runs phases of steps. The lanes of a phase run at the same time; the steps of a lane run one after another. After a step fails,
 * running steps finish and no further step starts, unless the run shall continue. A signal stops all running steps.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, createReadStream, openSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Lane, Phase, Step } from "./steps.ts";

const ROOT = join(import.meta.dirname, "../..");
const LAUNCHER = join(ROOT, "infra/launch.mjs");

/** The exit code of a step that this machine cannot run. Its output says why. */
export const SKIPPED = 77;

/** Ends this program, whose launcher's channel would keep it. */
export function endWith(code: number): void {
  process.exitCode = code;
  if (process.connected) process.disconnect();
}

export interface StepResult {
  readonly name: string;
  readonly outcome: "passed" | "skipped" | "FAILED";
  readonly durationMs: number;
}

function outcomeOf(code: number | null): StepResult["outcome"] {
  if (code === 0) return "passed";
  return code === SKIPPED ? "skipped" : "FAILED";
}

/** The results of all steps that started. `folder` is for their output while they run; `env` is what they get in addition. */
export async function runPhases(
  phases: readonly Phase[],
  folder: string,
  env: Readonly<Record<string, string>>,
  goOn = false,
): Promise<readonly StepResult[]> {
  const results: StepResult[] = [];
  const running = new Set<ChildProcess>();
  let isStopping = false;
  const stop = (): void => {
    isStopping = true;
    for (const child of running) child.kill("SIGTERM");
  };
  const ends = ["SIGINT", "SIGTERM", "SIGHUP", "disconnect"];
  for (const event of ends) process.on(event, stop);

  const runStep = async (step: Step, isAlone: boolean): Promise<void> => {
    const startedMs = Date.now();
    // With others beside it a step's output waits for its end, so that it stays in one piece.
    const log = join(folder, `${results.length}-${step.name.replaceAll(/\W/g, "-")}.log`);
    const output = isAlone ? "inherit" : openSync(log, "a");
    process.stdout.write(`\n== ${step.name}\n`);
    const [command, ...args] = step.run[0] === "npm" ? step.run : [process.execPath, LAUNCHER, ...step.run];
    const child = spawn(command ?? "", args, {
      cwd: ROOT,
      env: { ...process.env, ...env, ...step.env },
      stdio: ["ignore", output, output],
    });
    running.add(child);
    const [code] = (await once(child, "exit").catch(() => [null])) as [number | null];
    running.delete(child);
    const result = { name: step.name, outcome: outcomeOf(code), durationMs: Date.now() - startedMs };
    results.push(result);
    process.stdout.write(`\n== ${step.name}: ${result.outcome} after ${seconds(result.durationMs)} s\n`);
    if (output === "inherit") return;
    closeSync(output);
    await pipeline(createReadStream(log), process.stdout, { end: false });
  };
  const runLane = async (lane: Lane, isAlone: boolean): Promise<void> => {
    for (const step of lane) {
      if (isStopping || (!goOn && results.some(({ outcome }) => outcome === "FAILED"))) return;
      await runStep(step, isAlone);
    }
  };
  for (const phase of phases) await Promise.all(phase.map((lane) => runLane(lane, phase.length === 1)));
  for (const event of ends) process.off(event, stop);
  return isStopping ? [...results, { name: "stopped by a signal", outcome: "FAILED", durationMs: 0 }] : results;
}

export function seconds(durationMs: number): string {
  return (durationMs / 1000).toFixed(0);
}

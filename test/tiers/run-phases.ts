/**
 * Runs phases of steps. The lanes of a phase run at the same time; the steps of a lane run one after another. After a step fails,
 * no further step starts and running steps may finish. A signal stops all running steps.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, openSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Lane, Phase, Step } from "./steps.ts";

const ROOT = join(import.meta.dirname, "../..");
const LAUNCHER = join(ROOT, "infra/launch.mjs");

/** How a step ended. */
export interface StepResult {
  readonly name: string;
  /** The exit code; null: it was ended by a signal. */
  readonly code: number | null;
  readonly durationMs: number;
}

/** The results of all steps that started. `folder` is for their output while they run; `env` is what they get besides. */
export async function runPhases(
  phases: readonly Phase[],
  folder: string,
  env: Readonly<Record<string, string>>,
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
    const [code] = (await once(child, "exit")) as [number | null];
    running.delete(child);
    const result = { name: step.name, code, durationMs: Date.now() - startedMs };
    results.push(result);
    process.stdout.write(
      `\n== ${step.name}: ${code === 0 ? "passed" : "FAILED"} after ${seconds(result.durationMs)} s\n`,
    );
    if (output !== "inherit") await pipeline(createReadStream(log), process.stdout, { end: false });
  };
  const runLane = async (lane: Lane, isAlone: boolean): Promise<void> => {
    for (const step of lane) {
      if (isStopping || results.some(({ code }) => code !== 0)) return;
      await runStep(step, isAlone);
    }
  };
  for (const phase of phases) await Promise.all(phase.map((lane) => runLane(lane, phase.length === 1)));
  for (const event of ends) process.off(event, stop);
  return isStopping ? [...results, { name: "stopped by a signal", code: null, durationMs: 0 }] : results;
}

export function seconds(durationMs: number): string {
  return (durationMs / 1000).toFixed(0);
}

/**
 * Runs loads in rounds: in each round every target has its turn, and each round begins with another target, so that a
 * machine that is slow for a while slows all of them. A round that would end after the run's time is not begun.
 */
import type { Load, TargetName } from "./loads.ts";
import type { Generator } from "./places.ts";
import { cpuMsOf, forgetPeak, peakMbOf } from "./process-usage.ts";
import type { SliceResult } from "./slice.ts";
import { sliceOf, type Target, warmUpOf } from "./targets.ts";

export interface Sample {
  readonly load: Load;
  readonly target: TargetName;
  readonly round: number;
  readonly result: SliceResult;
  /** CPU time of the target's process in this turn; null where it is not known. */
  readonly cpuMs: number | null;
  /** CPU time of the other processes that work for the target. */
  readonly besideCpuMs: number | null;
  /** The peak of its resident memory within the turn. */
  readonly peakMb: number | null;
}

/** The CPU time that all these processes have used so far; null when that of one is not known. */
function cpuMsOfAll(pids: readonly number[]): number | null {
  const each = pids.map(cpuMsOf).filter((ms) => ms !== null);
  return each.length === pids.length ? each.reduce((sum, ms) => sum + ms, 0) : null;
}

async function turn(generator: Generator, load: Load, target: Target, round: number, ms: number): Promise<Sample> {
  const { pid, beside } = target;
  const own = pid === null ? [] : [pid];
  for (const each of own) forgetPeak(each);
  const before = [cpuMsOfAll(own), cpuMsOfAll(beside)] as const;
  const result = await generator.call(round < 0 ? warmUpOf(load, target, ms) : sliceOf(load, target, ms));
  const after = [cpuMsOfAll(own), cpuMsOfAll(beside)] as const;
  const used = (at: 0 | 1, pids: readonly number[]): number | null =>
    pids.length === 0 || before[at] === null || after[at] === null ? null : after[at] - before[at];
  const peakMb = pid === null ? null : peakMbOf(pid);
  return {
    load,
    target: target.name,
    round,
    result,
    cpuMs: used(0, own),
    besideCpuMs: used(1, beside),
    peakMb,
  };
}

/** Runs one load. Round -1 warms up; it counts only for rows and failures. */
export async function runLoad(
  generator: Generator,
  load: Load,
  targets: readonly Target[],
  plan: { readonly rounds: number; readonly sliceMs: number; readonly warmMs: number; readonly untilMs: number },
): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  // A load with streams of a second or more needs no warm-up other than that of an earlier load.
  if (load.reading !== "timed-stream")
    for (const target of targets) samples.push(await turn(generator, load, target, -1, plan.warmMs));
  for (let round = 0; round < plan.rounds; round += 1) {
    const roundMs = targets.length * plan.sliceMs;
    if (round > 0 && performance.now() + roundMs > plan.untilMs) break;
    for (let at = 0; at < targets.length; at += 1) {
      const target = targets[(at + round) % targets.length];
      if (target !== undefined) samples.push(await turn(generator, load, target, round, plan.sliceMs));
    }
  }
  return samples;
}

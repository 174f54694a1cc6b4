/**
 * How long each turn of a run takes, so that a run of `--quick` ends in time on a slow machine as well. Turns become
 * shorter, never fewer, down to the shortest useful turn. Pure.
 */
import type { Load } from "./loads.ts";

interface Pace {
  readonly coreRounds: number;
  readonly otherRounds: number;
  readonly sliceMs: number;
  readonly warmMs: number;
}

/** One load with the number of targets that are available. */
interface WantedPlan {
  readonly load: Load;
  readonly targets: number;
}

const SHORTEST_MS = 200;

const roundsOf = (load: Load, pace: Pace): number => (load.core ? pace.coreRounds : pace.otherRounds);

/** The plan of each load within `withinMs` for all of them; the normal pace when that leaves enough time. */
export function planFor(all: readonly WantedPlan[], pace: Pace, withinMs: number) {
  let [fixedMs, scaledMs] = [0, 0];
  for (const { load, targets } of all) {
    const rounds = roundsOf(load, pace);
    if (load.once) fixedMs += targets * rounds * load.onceMs;
    else scaledMs += targets * (rounds * pace.sliceMs + pace.warmMs);
  }
  const scale = Math.min(1, Math.max(0, withinMs - fixedMs) / Math.max(1, scaledMs));
  const scaled = (ms: number): number => Math.max(SHORTEST_MS, Math.round(ms * scale));
  return (load: Load) => ({ rounds: roundsOf(load, pace), sliceMs: scaled(pace.sliceMs), warmMs: scaled(pace.warmMs) });
}

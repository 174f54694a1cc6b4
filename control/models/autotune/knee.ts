/**
 * Finds the concurrency above which more load brings no more throughput (docs/rules/autotune.md#ladder): whether to
 * stop after the steps so far, why, and what to recommend. Pure; the caller limits time and requests.
 */
import type { AutotuneReport } from "../../../shared/schema/autotune.ts";
import type { LoadStep } from "./step.ts";

/** Every run of a step must bring at least this many times the throughput of the step before. */
const GAIN = 1.07;
/** A step with a larger share of errors has failed. */
const ERRORS = 0.1;

export type KneeReason = AutotuneReport["knee_reason"];

export interface Recommendation {
  readonly maxInFlight: number;
  readonly throughputRps: number;
}

/** The concurrencies to try: 1, 2, 4, 8 ... and `max` itself as the last. */
export function ladderOf(max: number): readonly number[] {
  const steps: number[] = [];
  for (let concurrency = 1; concurrency < max; concurrency *= 2) steps.push(concurrency);
  return [...steps, max];
}

/** Why the probe ends after these complete steps; null: the next step of the ladder is to be tried. */
export function reasonToStop(
  steps: readonly LoadStep[],
  targetP99Ms: number,
  ladder: readonly number[],
): KneeReason | null {
  const last = steps.at(-1);
  if (last === undefined) return null;
  if (!steps.some(hasSuccess)) return "no_data";
  if (!holds(last, targetP99Ms)) return "slo_breach";
  if (!gains(steps, steps.length - 1)) return "plateau";
  return steps.length === ladder.length ? "max_concurrency" : null;
}

/** The highest concurrency that met the target and still brought enough throughput; 1 when none did. */
export function recommend(steps: readonly LoadStep[], targetP99Ms: number): Recommendation {
  const best = steps.findLast((step, at) => holds(step, targetP99Ms) && gains(steps, at));
  return best === undefined
    ? { maxInFlight: 1, throughputRps: 0 }
    : { maxInFlight: best.concurrency, throughputRps: best.throughputRps };
}

function hasSuccess({ requests, errors }: LoadStep): boolean {
  return requests > errors;
}

function holds({ p99Ms, requests, errors }: LoadStep, targetP99Ms: number): boolean {
  return p99Ms !== null && p99Ms <= targetP99Ms && errors <= requests * ERRORS;
}

function gains(steps: readonly LoadStep[], at: number): boolean {
  const [before, step] = [steps[at - 1], steps[at]];
  return step !== undefined && (before === undefined || step.lowestRps >= before.throughputRps * GAIN);
}

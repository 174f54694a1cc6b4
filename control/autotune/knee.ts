/**
 * Where more concurrency stops to pay (decisions §11.1): what to try next after the steps so far, why to stop, and what to
 * recommend. Pure; the bounds on time and requests are the caller's.
 */
import type { AutotuneReport } from "../../shared/schema/autotune.ts";
import type { LoadStep } from "./step.ts";

/** A step has to bring this much more throughput than the one before. */
const GAIN = 1.07;
/** Above this share of errors a step has failed. */
const ERRORS = 0.1;

export type KneeReason = AutotuneReport["knee_reason"];

export interface Recommendation {
  readonly maxInFlight: number;
  readonly throughputRps: number;
}

/** 1, 2, 4, 8 ... and `max` itself as the last. */
export function ladderOf(max: number): readonly number[] {
  const steps: number[] = [];
  for (let concurrency = 1; concurrency < max; concurrency *= 2) steps.push(concurrency);
  return [...steps, max];
}

/** Why the probe ends after these steps, the last of which is over; null: the next step of the ladder is to be tried. */
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

/** The highest concurrency that held the target and still paid; 1 when none did. */
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
  return step !== undefined && (before === undefined || step.throughputRps >= before.throughputRps * GAIN);
}

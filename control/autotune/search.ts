/**
 * Climbs the ladder of decisions §11.1: closed-loop load, step after step, until there is a reason to stop. It never sends
 * more than its requests nor goes on after its signal; a step that was cut off is not judged by. Clock and requests are
 * arguments, so that a simulated upstream can stand for a real one.
 */
import { type KneeReason, ladderOf, type Recommendation, reasonToStop, recommend } from "./knee.ts";
import { type LoadOutcome, type LoadSample, type LoadStep, measuredStep } from "./step.ts";

const STEP_MS = 2500;
const REQUESTS_MAX = 20_000;
/** A step in which so many have failed, more than succeeded, is over: an upstream that is down is not hammered. */
const FAILURES_ENOUGH = 20;

interface KneeSearch {
  readonly targetP99Ms: number;
  readonly maxConcurrency: number;
  /** Sends one request. Once the signal is aborted it ends at once; it never rejects. */
  readonly send: (signal: AbortSignal) => Promise<LoadOutcome>;
  /** Milliseconds of a clock that never goes back. */
  readonly nowMs: () => number;
  /** The end of the probe, whatever it has found by then. */
  readonly signal: AbortSignal;
}

export interface KneeFindings extends Recommendation {
  readonly reason: KneeReason;
  /** Those that were complete. */
  readonly steps: readonly LoadStep[];
  /** All that were sent. */
  readonly requests: number;
}

/** The knee, as far as it was looked for: one that is cut off goes by the steps that were complete. */
export async function searchKnee(search: KneeSearch): Promise<KneeFindings> {
  const { targetP99Ms, maxConcurrency, signal } = search;
  const ladder = ladderOf(maxConcurrency);
  const steps: LoadStep[] = [];
  let left = REQUESTS_MAX;
  let reason: KneeReason | null = null;
  while (reason === null) {
    const concurrency = ladder[steps.length] ?? maxConcurrency;
    // A fast upstream would use up the requests on the first steps; no step needs so many.
    const share = Math.ceil(left / (ladder.length - steps.length));
    const samples = await climb(search, concurrency, share);
    left -= samples.length;
    if (signal.aborted) break;
    steps.push(measuredStep(concurrency, samples));
    reason = reasonToStop(steps, targetP99Ms, ladder);
  }
  const cutOff = steps.length === 0 ? "no_data" : "max_concurrency";
  return { ...recommend(steps, targetP99Ms), reason: reason ?? cutOff, steps, requests: REQUESTS_MAX - left };
}

/** One step: what has begun when its time is over is finished and counted. */
async function climb(
  { send, nowMs, signal }: KneeSearch,
  concurrency: number,
  requestsMax: number,
): Promise<LoadSample[]> {
  const beganMs = nowMs();
  const samples: LoadSample[] = [];
  let sent = 0;
  let failed = 0;
  const isOver = (): boolean =>
    signal.aborted ||
    nowMs() - beganMs >= STEP_MS ||
    sent >= requestsMax ||
    (failed >= FAILURES_ENOUGH && failed > samples.length / 2);
  const worker = async (): Promise<void> => {
    while (!isOver()) {
      sent += 1;
      const startedMs = nowMs() - beganMs;
      const outcome = await send(signal);
      if (outcome !== "ok") failed += 1;
      samples.push({ outcome, startedMs, endedMs: nowMs() - beganMs });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return samples;
}

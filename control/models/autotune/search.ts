/**
 * Climbs the ladder of docs/rules/autotune.md#ladder: closed-loop load, step after step, until there is a reason to
 * stop. It never sends more than the allowed number of requests and never continues after its signal is aborted; a step
 * that was cut off is not evaluated. Clock and requests are arguments, so that a simulated upstream can replace a real
 * one.
 */
import { type KneeReason, ladderOf, type Recommendation, reasonToStop, recommend } from "./knee.ts";
import { type LoadOutcome, type LoadSample, type LoadStep, measuredStep } from "./step.ts";

/** What one run brings can be luck: what a step brings has to hold in each of its runs. */
const RUNS = 2;
/** A run ends when it has reached both this time and this many requests per worker, or the maximum time. */
const RUN_MS = 2500;
const ROUNDS = 10;
const RUN_MAX_MS = 4000;
const REQUESTS_MAX = 20_000;
/**
 * A step in which so many requests have failed, and more than succeeded, ends early, so that a failing upstream is not
 * overloaded.
 */
const FAILURES_ENOUGH = 20;

interface KneeSearch {
  readonly targetP99Ms: number;
  readonly maxConcurrency: number;
  /** Sends one request. Once the signal is aborted it ends at once; it never rejects. */
  readonly send: (signal: AbortSignal) => Promise<LoadOutcome>;
  /** Milliseconds of a clock that never runs back. */
  readonly nowMs: () => number;
  /** Ends the search at whatever it has found by then. */
  readonly signal: AbortSignal;
}

export interface KneeFindings extends Recommendation {
  readonly reason: KneeReason;
  /** The steps that were complete. */
  readonly steps: readonly LoadStep[];
  /** How many requests were sent in all. */
  readonly requests: number;
}

/** Searches the knee. When the search is cut off, the recommendation rests on the complete steps. */
export async function searchKnee(search: KneeSearch): Promise<KneeFindings> {
  const { targetP99Ms, maxConcurrency, signal } = search;
  const ladder = ladderOf(maxConcurrency);
  const steps: LoadStep[] = [];
  let left = REQUESTS_MAX;
  let reason: KneeReason | null = null;
  while (reason === null) {
    const concurrency = ladder[steps.length] ?? maxConcurrency;
    // Without this limit a fast upstream would use up all requests in the first steps.
    const share = Math.ceil(left / (ladder.length - steps.length));
    const runs: LoadSample[][] = [];
    while (runs.length < RUNS && !signal.aborted && !hasFailed(runs.at(-1)))
      runs.push(await climb(search, concurrency, Math.ceil(share / RUNS)));
    left -= runs.flat().length;
    if (signal.aborted) break;
    steps.push(measuredStep(concurrency, runs));
    reason = reasonToStop(steps, targetP99Ms, ladder);
  }
  const cutOff = steps.length === 0 ? "no_data" : "max_concurrency";
  return { ...recommend(steps, targetP99Ms), reason: reason ?? cutOff, steps, requests: REQUESTS_MAX - left };
}

/** Whether a run shows that the upstream fails, so that another one would only add to its load. */
function hasFailed(run: readonly LoadSample[] = []): boolean {
  return run.filter(({ outcome }) => outcome !== "ok").length > run.length / 2;
}

/** One run of a step: requests that have begun when its time is over are finished and counted. */
async function climb(
  { send, nowMs, signal }: KneeSearch,
  concurrency: number,
  requestsMax: number,
): Promise<LoadSample[]> {
  const beganMs = nowMs();
  const samples: LoadSample[] = [];
  let sent = 0;
  let failed = 0;
  const lastsEnough = (): boolean => {
    const ms = nowMs() - beganMs;
    return ms >= RUN_MAX_MS || (ms >= RUN_MS && samples.length >= ROUNDS * concurrency);
  };
  const isOver = (): boolean =>
    signal.aborted ||
    lastsEnough() ||
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

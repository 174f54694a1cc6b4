/**
 * Runs examinations beside each other, each within a time of its own: one that hangs becomes a finding and holds up no
 * other. One that throws is a finding as well, never the end of the doctor.
 */
import type { Examined } from "./finding.ts";
import { findingsOf } from "./finding.ts";
import { isOfOthers, unreachable } from "./unreachable.ts";

/** A look at one part. */
export interface Examination {
  readonly part: string;
  /** Nobody said that the part is where it is looked for: no answer in time then proves nothing. */
  readonly isGuess?: boolean;
  /** The signal aborts when the time is over: the examination then lets go of its connections. */
  readonly run: (signal: AbortSignal) => Promise<Examined>;
}

/** What the examinations bring back, in their order. Never rejects. */
export async function runExaminations(
  examinations: readonly Examination[],
  withinMs: number,
): Promise<readonly Examined[]> {
  return await Promise.all(examinations.map(async (examination) => await runExamination(examination, withinMs)));
}

async function runExamination({ part, run, isGuess = false }: Examination, withinMs: number): Promise<Examined> {
  const over = new AbortController();
  const late = Promise.withResolvers<Examined>();
  const { failure, skipped } = findingsOf(part);
  const timer = setTimeout(() => {
    const detail = `was not examined within ${withinMs / 1000} s`;
    const fix = "check whether the part hangs or the network drops packets; --timeout sets a longer limit";
    late.resolve({ findings: [(isGuess ? skipped : failure)("reachable", detail, fix)] });
    over.abort();
  }, withinMs);
  try {
    return await Promise.race([run(over.signal), late.promise]);
  } catch (error) {
    if (isOfOthers(error)) {
      const { detail, fix } = unreachable(error);
      return { findings: [failure("reachable", detail, fix)] };
    }
    const name = error instanceof Error ? error.name : "unknown";
    const fix = "this is a defect of the doctor: report it with the name of the error";
    return { findings: [failure("reachable", `could not be examined (${name})`, fix)] };
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}

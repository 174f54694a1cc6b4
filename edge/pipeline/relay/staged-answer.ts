/**
 * A 2xx answer that goes through stages before the client gets it (docs/rules/boons.md#answers). Below the stages every byte of
 * the upstream is reported, so that usage is read from the upstream's own bytes; above them the pump moves their results.
 */
import type { AnswerReport, AnswerStage, StagedAnswer } from "../call/boon/answer-stage.ts";
import type { AttemptCancellation } from "../forward/attempt-cancellation.ts";
import { anyReader, BatchingBodyReader, BegunBodyReader } from "./body-reader.ts";
import type { RelayJob } from "./relay-job.ts";

/** The bytes for the client. */
interface Staged extends StagedAnswer {
  readonly warnings: readonly string[];
  /** Whether a stage has ended the stream with an error by now. */
  readonly isBroken: () => boolean;
}

/** Below the stages: the body of the upstream as they see it. */
export class TappedBody {
  /** Read to its end; false: it is still under way, it broke off, or a stage needs no more of it. */
  complete = false;
  broken = false;
  /** Its fault, in words for the client. */
  fault: string | null = null;
  readonly body: ReadableStream<Uint8Array>;

  /**
   * `head` is the read part of the body. `onUpstream` is called with every byte. The deadline of the upstream call ends with
   * the body.
   */
  constructor(
    {
      body,
      head,
      isWhole,
      events,
      clock,
      turns,
    }: Pick<RelayJob, "body" | "head" | "isWhole" | "events" | "clock" | "turns">,
    cancellation: Pick<AttemptCancellation, "suspend" | "idle">,
    onUpstream: RelayJob["onUpstream"],
  ) {
    const rest = events ? new BatchingBodyReader(body, clock) : anyReader(body);
    const reader = new BegunBodyReader(head, rest, cancellation.idle, isWhole);
    this.body = new ReadableStream(
      {
        pull: async (controller) => {
          try {
            const value = await reader.next();
            if (value !== null) {
              await onUpstream(value);
              // the reader uses its buffer again
              controller.enqueue(value.slice());
              await turns.after(value.byteLength);
              return;
            }
            this.complete = true;
          } catch (error) {
            this.broken = true;
            controller.error(error);
            return;
          } finally {
            if (this.complete) cancellation.suspend();
          }
          controller.close();
        },
        cancel: async () => await reader.cancel(),
      },
      { highWaterMark: 0 },
    );
  }

  /** The fully read body was not a whole answer. */
  breakOff(fault: string | null): void {
    this.fault = fault;
    this.complete = false;
    this.broken = true;
  }
}

/** Runs the stages one after another. `onEnd` collects the resources to free when the answer ends. Throws what a stage throws. */
export async function runStages(
  stages: readonly AnswerStage[],
  first: StagedAnswer,
  onEnd: (free: () => void) => void,
): Promise<Staged> {
  const warnings: string[] = [];
  let isBroken = false;
  const report: AnswerReport = {
    warn: (warning) => void warnings.push(warning),
    broken: () => {
      isBroken = true;
    },
    onEnd,
  };
  let answer = first;
  for (const stage of stages) {
    answer = await stage(answer, report);
    // Only 2xx answers get to a stage.
    if (answer.status >= 400) break;
  }
  return { ...answer, warnings: [...warnings], isBroken: () => isBroken };
}

/**
 * What happens to the answer of an upstream between its first byte and the client: each stage gets the result of the one before
 * it. Only 2xx answers get here; usage is read below all stages.
 */
import type { Call } from "../context.ts";
import { BoundedBuffer } from "../memory/bounded-buffer.ts";

/** Largest answer that is collected (docs/rules/streams.md#buffered-answers). */
const COLLECTED_MAX_BYTES = 4 * 1024 * 1024;

/** An answer on its way to the client. The stage that takes the body reads it to its end, cancels it, or passes it on. */
export interface StagedAnswer {
  readonly status: number;
  readonly contentType: string;
  /** The coding of an upstream's body that cannot be read; most often none. */
  readonly coding?: string | null;
  /** The `retry-after` of a 429 that a stage puts in the answer's place. */
  readonly retryAfter?: string | null;
  readonly body: ReadableStream<Uint8Array>;
}

/** A stage's report about its work. */
export interface AnswerReport {
  /**
   * A warning that the boon could not do its part: in `x-gateway-boons-warning`, or in the log alone once the stages have
   * returned and the headers are sent.
   */
  warn(warning: string): void;
  /** The stream ends with an error that the stage writes or passes on, and that the upstream's answer does not have. */
  broken(): void;
  /** Runs `free` when the answer has ended, in any way. */
  onEnd(free: () => void): void;
}

/**
 * Returns the replacement of the answer. A GatewayError becomes the client's answer, and the request is charged nothing; a body
 * that errors later breaks the answer off.
 */
export type AnswerStage = (answer: StagedAnswer, report: AnswerReport) => Promise<StagedAnswer>;

/**
 * A body that was read: whole, or passed on unchanged because it was too large to collect, or because memory was short
 * (`noMemory`).
 */
type Collected =
  | { readonly kind: "whole"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "too-large"; readonly noMemory: boolean; readonly body: ReadableStream<Uint8Array> };

/**
 * Reads a body to its end, within the isolate's memory for answers, which is freed when the answer has ended. Rejects
 * when the body breaks off.
 */
export async function collectAnswer(
  call: Call,
  body: ReadableStream<Uint8Array>,
  report: AnswerReport,
  { maxBytes, memory } = { maxBytes: COLLECTED_MAX_BYTES, memory: call.memory.answerMemory },
): Promise<Collected> {
  const buffer = new BoundedBuffer(maxBytes, memory.open());
  report.onEnd(() => buffer.close());
  const passed = memory.open();
  report.onEnd(() => passed.close());
  const reader = body.getReader();
  const read: Uint8Array[] = [];
  let readBytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { kind: "whole", bytes: buffer.take() ?? new Uint8Array(0) };
    read.push(value);
    readBytes += value.byteLength;
    buffer.push(value);
    if (buffer.isWhole) continue;
    // A body that is passed on counts for as long as the answer lasts, if there is memory to count it in.
    passed.grow(readBytes);
    return { kind: "too-large", noMemory: readBytes <= maxBytes, body: pushBack(read, reader) };
  }
}

/** A body of bytes that are there already. */
export function bodyOfBytes(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      if (bytes.byteLength > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}

/** The read pieces, each only until it is passed on, and then the rest. */
function pushBack(
  read: readonly Uint8Array[],
  rest: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  const pieces = read.toReversed();
  return new ReadableStream(
    {
      pull: async (controller) => {
        const value = pieces.pop() ?? (await rest.read()).value;
        if (value === undefined) controller.close();
        else controller.enqueue(value);
      },
      cancel: async (reason) => await rest.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** Puts large answers outside the rows of their lines, which are claimed, counted and ended without them (docs/rules/batches.md#results). */
import { setTimeout as sleep } from "node:timers/promises";
import { WaitingLine } from "../kernel/waiting-line.ts";
import { asText } from "./answer-text.ts";
import type { LineEnd } from "./line-store.ts";

/** What the row of a line has at most of its answer. */
const ROW_MAX_BYTES = 64 * 1024;
const AGAIN_AFTER_MS = 500;
/** Of parsing: without memory for it the answer is stored as a text, because the next ones wait. */
const PARSE_TRIES = 3;

interface LargeAnswersOptions {
  /** The answer as JSON in one line. Rejects when there is no memory for that. */
  readonly inOneLine: (answer: string) => Promise<string>;
  /** Returns the id of the file; null if the batch is gone. */
  readonly store: (batchId: string, content: Buffer, ending: AbortSignal) => Promise<string | null>;
  readonly ending: AbortSignal;
  readonly onFailed: (end: LineEnd, error: unknown) => void;
}

export class LargeAnswers {
  readonly #options: LargeAnswersOptions;
  /** One is stored at a time: each takes half of the embedded database's time. */
  readonly #turns = new WaitingLine(1);

  constructor(options: LargeAnswersOptions) {
    this.#options = options;
  }

  /** The end as it is stored in the row. Tries until the database has the answer. Throws when this process ends before. */
  async apart(end: LineEnd): Promise<LineEnd> {
    const { answer, batchId, state } = end;
    // its next try brings another answer
    if (answer === null || state === "waiting") return { ...end, answer: null };
    if (Buffer.byteLength(answer) <= ROW_MAX_BYTES) return end;
    const { inOneLine, store, ending, onFailed } = this.#options;
    const over = await this.#turns.begin();
    try {
      let content: Buffer | undefined;
      for (let tries = 1; ; tries += 1) {
        try {
          content ??= Buffer.from(tries > PARSE_TRIES ? asText(answer) : await inOneLine(answer));
          return { ...end, answer: null, answerFileId: await store(batchId, content, ending) };
        } catch (error) {
          if (ending.aborted) throw error;
          onFailed(end, error);
          await sleep(AGAIN_AFTER_MS, undefined, { signal: ending });
        }
      }
    } finally {
      over();
    }
  }
}

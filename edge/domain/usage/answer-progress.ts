/** The facts of a scan of an answer so far (answer-scan.ts). */
import { NO_PARTS, type UsageParts } from "./reported-counts.ts";

/** The known facts of an answer. Characters are code points. */
export interface AnswerProgress {
  /** Documents (events, for a stream) that contained content. */
  readonly events: number;
  readonly characters: number;
  /** Those of whole items of the output, which may repeat pieces that have come. */
  readonly itemCharacters: number;
  /** The last reported counts, the input including the cached part; null: none was reported. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** Their sum, as it was reported. */
  readonly totalTokens: number | null;
  /** The parts of them that were reported. */
  readonly parts: UsageParts;
  /** The output was reported, and not only before the answer started. */
  readonly outputReported: boolean;
  /** The output was reported, and no content has come since. */
  readonly upToDate: boolean;
  /** The answer has shown its end, and no content has come since. */
  readonly ended: boolean;
  /** Content or a report has come, or the start of an answer that will have them. */
  readonly known: boolean;
}

/** The progress of an answer that has not started. */
export const NOTHING_SEEN: AnswerProgress = {
  events: 0,
  characters: 0,
  itemCharacters: 0,
  inputTokens: null,
  outputTokens: null,
  totalTokens: null,
  parts: NO_PARTS,
  outputReported: false,
  upToDate: false,
  ended: false,
  known: false,
};

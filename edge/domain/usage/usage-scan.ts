/**
 * The basis of an answer's bill, from the part that passed (docs/rules/settlement-and-rows.md#tokens-owed,
 * docs/rules/settlement-and-rows.md#what-was-seen): the tokens that it reports, and the content seen, in case it ends without a
 * report. Event streams are read event by event, everything else as documents, from the first byte on: whether something is a
 * report depends on its place, which the end of a body alone does not show.
 */

import { OPEN_BRACE, OPEN_BRACKET, SPACE } from "../../../shared/wire/ascii.ts";
import { type AnswerFacts, FactReader } from "./answer-facts.ts";
import { type AnswerProgress, NOTHING_SEEN } from "./answer-progress.ts";
import { AnswerScan } from "./answer-scan.ts";
import type { OtherText } from "./other-text.ts";
import type { UsageParts } from "./reported-counts.ts";
import { StreamScan } from "./stream-scan.ts";

/** Counts that an upstream reports: safe integers of at least 0; null: not reported. */
interface ReportedUsage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** The sum, which is all that some routes report. */
  readonly totalTokens: number | null;
}

/** Usage of an answer, complete or not. */
export interface SeenUsage {
  /** Null: nothing was reported. */
  readonly reported: ReportedUsage | null;
  /** The parts of the tokens, and the time of audio, that were reported. */
  readonly parts: UsageParts;
  /** The output was reported, and not only before the answer started. */
  readonly outputReported: boolean;
  /** The output was reported, and the report covers all content seen. */
  readonly upToDate: boolean;
  /**
   * It is up to date, and the answer itself has shown its end: nothing more was to come, whether or not the connection
   * ended properly.
   */
  readonly final: boolean;
  /**
   * The least tokens of the content seen: one per event, or a quarter of its characters if that is more; of an answer of no
   * known form, the same of all its texts, and the ids in its lists.
   */
  readonly seenTokens: number;
  /** Bytes of the answer that have come. */
  readonly bytes: number;
}

const BYTE_ORDER_MARK: ReadonlySet<number> = new Set([0xef, 0xbb, 0xbf]);

/** The units that are billed by the seen part of an answer. */
interface Seen {
  /** The content of answers in the forms that are known. */
  readonly content: boolean;
  /** All texts of an answer of another form. */
  readonly anyForm?: boolean;
  /** Its type says that it is an event stream: bytes outside events are not part of its text. */
  readonly events?: boolean;
}

export class UsageScan {
  readonly #seen: Seen;
  #bytes = 0;
  #document: AnswerScan | null = null;
  #stream: StreamScan | null = null;
  readonly #facts: FactReader;

  /**
   * `onId`: called with each id by which the upstream
   * keeps the answer or a part of it.
   */
  constructor(seen: Seen, onId?: (id: string) => void) {
    this.#seen = seen;
    this.#facts = new FactReader(onId);
  }

  /** A body that starts with a brace or a bracket is a document; lines of an event stream start with neither. */
  push(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength;
    if (this.#stream === null && this.#document === null) this.#begin(chunk);
    this.#stream?.push(chunk);
    if (this.#document !== null) scan(this.#document, chunk);
  }

  /** Bytes seen in all. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The facts that the answer has stated so far. */
  facts(): AnswerFacts {
    return this.#facts.facts();
  }

  /** The answer contains an error of its upstream. */
  get hasError(): boolean {
    return this.#stream?.hasError ?? this.#document?.hasError ?? false;
  }

  /** The stream has shown its end, `[DONE]`. */
  get isDone(): boolean {
    return this.#stream?.isDone ?? false;
  }

  /** The counts reported and seen so far. */
  usage(): SeenUsage {
    const progress = this.#stream?.progress() ?? this.#document?.progress() ?? NOTHING_SEEN;
    const { outputReported, upToDate } = progress;
    const whole = this.#document !== null && !this.#document.open;
    return {
      reported: reportOf(progress),
      parts: progress.parts,
      outputReported,
      upToDate,
      final: upToDate && (progress.ended || whole),
      seenTokens: this.#seen.content ? seenTokens(progress, this.#seen.anyForm === true ? this.#other : null) : 0,
      bytes: this.#bytes,
    };
  }

  get #other(): OtherText | null {
    return (this.#stream ?? this.#document)?.other ?? null;
  }

  /** Blanks before a document keep a connection alive, and show nothing about its kind. */
  #begin(chunk: Uint8Array): void {
    const first = chunk.find((byte) => byte > SPACE && !BYTE_ORDER_MARK.has(byte));
    if (first === undefined) return;
    if (first === OPEN_BRACE || first === OPEN_BRACKET) this.#document = new AnswerScan(this.#facts);
    else this.#stream = new StreamScan(this.#facts, this.#seen.events !== true);
  }
}

/** A body may contain several documents, one after another. */
function scan(document: AnswerScan, chunk: Uint8Array): void {
  for (let at = 0; at < chunk.byteLength; ) {
    at = document.push(chunk, at, chunk.byteLength);
    if (!document.open) document.end();
  }
}

function reportOf({ inputTokens, outputTokens, totalTokens }: AnswerProgress): ReportedUsage | null {
  if (inputTokens === null && outputTokens === null && totalTokens === null) return null;
  return { inputTokens, outputTokens, totalTokens };
}

function seenTokens(progress: AnswerProgress, other: OtherText | null): number {
  const { events, characters, itemCharacters, known } = progress;
  const least = other === null ? 0 : known ? other.ids : other.tokens;
  return Math.max(events, Math.floor(Math.max(characters, itemCharacters) / 4), least);
}

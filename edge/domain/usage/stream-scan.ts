/**
 * Reads an event stream for an {@link AnswerScan}: the data of each event is a document (WHATWG HTML, "Server-sent
 * events"). Lines may end with LF, CR or both, and data may have several lines; comments and other fields count nothing, unless it
 * is a plain text, whose lines are its content.
 * Bytes may be cut anywhere, and lines may have any length.
 */

import { CR, LF } from "../../../shared/wire/ascii.ts";
import type { FactReader } from "./answer-facts.ts";
import type { AnswerProgress } from "./answer-progress.ts";
import { AnswerScan } from "./answer-scan.ts";
import type { OtherText } from "./other-text.ts";

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;
/** `data:` */
const FIELD = [0x64, 0x61, 0x74, 0x61, 0x3a] as const;

export class StreamScan {
  readonly #answer: AnswerScan;
  readonly #isText: boolean;
  /** Bytes of the line that match {@link FIELD} so far; when all match, the rest of the line is data. */
  #matched = 0;
  /** The line has begun, and differs from {@link FIELD}. */
  #other = false;
  /** Bytes of a byte order mark before the first line that have come; null: it can no longer come. */
  #marked: number | null = 0;
  /** The last byte was a CR: an LF that follows belongs to it. */
  #afterCr = false;

  /** `isText`: no event stream was announced, so any line may be text of the answer. */
  constructor(facts?: FactReader, isText = false) {
    this.#answer = new AnswerScan(facts);
    this.#isText = isText;
  }

  push(chunk: Uint8Array): void {
    const { length } = chunk;
    // Few streams contain a CR: it is searched once, and again after each one that was found.
    let cr = endOf(chunk, CR, 0);
    for (let at = 0; at < length; ) {
      if (this.#matched === FIELD.length || this.#other) {
        if (cr < at) cr = endOf(chunk, CR, at);
        at = this.#rest(chunk, at, Math.min(cr, endOf(chunk, LF, at)));
      } else {
        this.#begin(chunk[at] ?? 0);
        at += 1;
      }
    }
  }

  /** What is known, including what an event that has not ended has shown. */
  progress(): AnswerProgress {
    return this.#answer.progress();
  }

  get other(): OtherText {
    return this.#answer.other;
  }

  get hasError(): boolean {
    return this.#answer.hasError;
  }

  /** A byte at the beginning of a line. */
  #begin(byte: number): void {
    if (this.#marked !== null) {
      this.#marked = byte === BYTE_ORDER_MARK[this.#marked] ? this.#marked + 1 : null;
      if (this.#marked !== null) return;
    }
    const completes = byte === LF && this.#afterCr;
    this.#afterCr = byte === CR;
    if (completes) return;
    if (byte === LF || byte === CR) {
      if (this.#matched === 0) this.#answer.end();
      this.#matched = 0;
    } else if (byte === FIELD[this.#matched]) this.#matched += 1;
    else {
      this.#other = true;
      if (this.#isText) this.other.text(1);
    }
  }

  /** Continues to the end of a line at `end`. Returns where it stopped: after that, or at the end of the bytes. */
  #rest(chunk: Uint8Array, from: number, end: number): number {
    if (this.#other && this.#isText) this.other.text(end - from);
    for (let at = this.#other ? end : from; at < end; ) at = this.#answer.push(chunk, at, end);
    if (end === chunk.length) return end;
    this.#matched = 0;
    this.#other = false;
    this.#afterCr = chunk[end] === CR;
    return end + 1;
  }
}

/** The place where the byte comes next, or the end of the bytes. */
function endOf(chunk: Uint8Array, byte: number, from: number): number {
  const found = chunk.indexOf(byte, from);
  return found === -1 ? chunk.length : found;
}

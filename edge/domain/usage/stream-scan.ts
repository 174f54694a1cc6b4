/**
 * Reads an event stream for an {@link AnswerScan}: the data of each event is a document (WHATWG HTML, "Server-sent
 * events"). Lines may end with LF, CR or both, and data may have several lines; of the other fields only the name of an event
 * matters. Comments and other fields count nothing, unless it is a plain text, whose lines are its content.
 * Bytes may be cut anywhere, and lines may have any length.
 */

import { CR, LF, SPACE } from "../../../shared/wire/ascii.ts";
import type { FactReader } from "./answer-facts.ts";
import type { AnswerProgress } from "./answer-progress.ts";
import { AnswerScan } from "./answer-scan.ts";
import type { OtherText } from "./other-text.ts";

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;
const bytesOf = (text: string): readonly number[] => [...new TextEncoder().encode(text)];
const DATA = bytesOf("data:");
const EVENT = bytesOf("event:");
/** The data that ends a stream, and the name of an event that is an error. */
const DONE = bytesOf("[DONE]");
const ERROR = bytesOf("error");

export class StreamScan {
  readonly #answer: AnswerScan;
  readonly #isText: boolean;
  /** The field that the line may have; when all of its bytes have matched, the rest of the line is its value. */
  #field = DATA;
  #matched = 0;
  /** Bytes of {@link DONE} or {@link ERROR} that the value has matched; -1: it is another one. */
  #same = 0;
  /** The line has started, and its bytes are not data. */
  #other = false;
  /** The event has data; it has the name of an error. */
  #hasData = false;
  #isNamedError = false;
  #hasErrorEvent = false;
  #isDone = false;
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
      if (this.#matched === this.#field.length || this.#other) {
        if (cr < at) cr = endOf(chunk, CR, at);
        at = this.#rest(chunk, at, Math.min(cr, endOf(chunk, LF, at)));
      } else {
        this.#begin(chunk[at] ?? 0);
        at += 1;
      }
    }
  }

  /** The facts so far, including those of an event that has not ended. */
  progress(): AnswerProgress {
    return this.#answer.progress();
  }

  get other(): OtherText {
    return this.#answer.other;
  }

  get hasError(): boolean {
    return this.#answer.hasError || this.#hasErrorEvent || (this.#isNamedError && this.#hasData);
  }

  /** `[DONE]` has come: nothing follows that belongs to the answer, but perhaps its usage. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** A byte at the start of a line. */
  #begin(byte: number): void {
    if (this.#marked !== null) {
      this.#marked = byte === BYTE_ORDER_MARK[this.#marked] ? this.#marked + 1 : null;
      if (this.#marked !== null) return;
    }
    const completes = byte === LF && this.#afterCr;
    this.#afterCr = byte === CR;
    if (completes) return;
    if (this.#matched === 0) this.#field = byte === EVENT[0] ? EVENT : DATA;
    if (byte === LF || byte === CR) {
      if (this.#matched === 0) this.#endEvent();
      this.#matched = 0;
    } else if (byte === this.#field[this.#matched]) {
      this.#matched += 1;
      this.#same = 0;
      this.#other = this.#matched === EVENT.length;
    } else {
      this.#same = -1;
      this.#other = true;
      if (this.#isText) this.other.text(this.#matched + 1);
    }
  }

  /** Continues to the end of a line at `end`. Returns where it stopped: after that, or at the end of the bytes. */
  #rest(chunk: Uint8Array, from: number, end: number): number {
    this.#compare(chunk, from, end);
    if (this.#other && this.#isText) this.other.text(end - from);
    for (let at = this.#other ? end : from; at < end; ) at = this.#answer.push(chunk, at, end);
    if (end === chunk.length) return end;
    this.#endLine();
    this.#matched = 0;
    this.#other = false;
    this.#afterCr = chunk[end] === CR;
    return end + 1;
  }

  /** Compares a value, which may have blanks around it, with the one that matters. */
  #compare(chunk: Uint8Array, from: number, to: number): void {
    const wanted = this.#field === DATA ? DONE : ERROR;
    for (let at = from; at < to && this.#same >= 0; at += 1) {
      if (chunk[at] === wanted[this.#same]) this.#same += 1;
      else if (chunk[at] !== SPACE || this.#same % wanted.length !== 0) this.#same = -1;
    }
  }

  #endLine(): void {
    if (this.#field === DATA) {
      this.#hasData ||= !this.#other;
      this.#isDone ||= this.#same === DONE.length;
    } else this.#isNamedError ||= this.#same === ERROR.length;
  }

  #endEvent(): void {
    this.#answer.end();
    this.#hasErrorEvent ||= this.#isNamedError && this.#hasData;
    this.#hasData = false;
    this.#isNamedError = false;
  }
}

/** The place where the byte comes next, or the end of the bytes. */
function endOf(chunk: Uint8Array, byte: number, from: number): number {
  const found = chunk.indexOf(byte, from);
  return found === -1 ? chunk.length : found;
}

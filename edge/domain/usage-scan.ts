/**
 * What an answer owes, by what passed of it (decisions §23.1, §43.2): the tokens that it reports, and the content that was
 * seen for when it ends without a report. Event streams are read event by event, everything else is one document with its
 * report in its last 16 KiB. Content is looked for only where it may be billed.
 */
import { AnswerScan, type AnswerTally, NOTHING_SEEN } from "./answer-scan.ts";
import { StreamScan } from "./stream-scan.ts";
import { type ReportedUsage, UsageTail } from "./usage-tail.ts";

/** Of an answer, complete or not. */
export interface SeenUsage {
  /** Null: nothing was reported. */
  readonly reported: ReportedUsage | null;
  /** The reported output is that of all the content seen. */
  readonly upToDate: boolean;
  /** What the content seen comes to in tokens at least: its events, or a quarter of its characters if that is more. */
  readonly seenTokens: number;
  /** Not a byte has come. */
  readonly empty: boolean;
}

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const SPACE = 0x20;
const BYTE_ORDER_MARK: ReadonlySet<number> = new Set([0xef, 0xbb, 0xbf]);

export class UsageScan {
  readonly #content: boolean;
  #bytes = 0;
  /** The only chunk so far, which nobody has looked into. */
  #only: Uint8Array | null = null;
  #tail: UsageTail | null = null;
  #document: AnswerScan | null = null;
  #stream: StreamScan | null = null;

  /** `content`: the route is billed by the tokens of the answer's content. */
  constructor({ content }: { readonly content: boolean }) {
    this.#content = content;
  }

  /**
   * A body that begins with a brace or a bracket is a document; lines of an event stream begin with neither. The chunk is read
   * again later: it must stay as it is.
   */
  push(chunk: Uint8Array): void {
    if (chunk.byteLength === 0) return;
    this.#bytes += chunk.byteLength;
    if (this.#tail !== null) this.#pushDocument(this.#tail, chunk);
    else if (this.#stream !== null) this.#stream.push(chunk);
    else this.#begin(chunk);
  }

  /** Bytes seen in all. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What was reported and seen up to now. */
  usage(): SeenUsage {
    const empty = this.#bytes === 0;
    if (this.#stream !== null) {
      const tally = this.#stream.tally();
      return { reported: reportOf(tally), upToDate: tally.upToDate, seenTokens: seenTokens(tally), empty };
    }
    const reported = this.#tail?.usage() ?? null;
    const upToDate = reported !== null && reported.outputTokens !== null;
    // Nearly every answer is one chunk that reports: then nobody has to look for its content.
    const tally = upToDate ? NOTHING_SEEN : this.#documentTally();
    return { reported, upToDate, seenTokens: seenTokens(tally), empty };
  }

  #begin(chunk: Uint8Array): void {
    const first = chunk.find((byte) => byte > SPACE && !BYTE_ORDER_MARK.has(byte));
    // Blanks before a document keep a connection alive, and tell nothing.
    if (first === undefined) return;
    if (!this.#content || first === OPEN_BRACE || first === OPEN_BRACKET) {
      this.#tail = new UsageTail();
      this.#tail.push(chunk);
      this.#only = chunk;
    } else {
      this.#stream = new StreamScan();
      this.#stream.push(chunk);
    }
  }

  #pushDocument(tail: UsageTail, chunk: Uint8Array): void {
    tail.push(chunk);
    if (!this.#content) return;
    if (this.#only !== null) this.#scan(this.#only);
    this.#only = null;
    this.#scan(chunk);
  }

  #documentTally(): AnswerTally {
    if (!this.#content) return NOTHING_SEEN;
    if (this.#only !== null) this.#scan(this.#only);
    this.#only = null;
    return this.#document?.tally() ?? NOTHING_SEEN;
  }

  /** A body may be several documents, one after another. */
  #scan(chunk: Uint8Array): void {
    this.#document ??= new AnswerScan();
    for (let at = 0; at < chunk.byteLength; ) {
      at = this.#document.push(chunk, at, chunk.byteLength);
      if (at < chunk.byteLength) this.#document.end();
    }
  }
}

function reportOf({ inputTokens, outputTokens }: AnswerTally): ReportedUsage | null {
  return inputTokens === null && outputTokens === null ? null : { inputTokens, outputTokens };
}

function seenTokens({ events, characters }: AnswerTally): number {
  return Math.max(events, Math.floor(characters / 4));
}

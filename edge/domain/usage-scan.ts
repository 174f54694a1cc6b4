/**
 * Reads the tokens that an upstream reports from the last 16 KiB of its body, whatever the body is (decisions §23.1). The
 * last report wins. When the tail reports output alone, the input is looked for in the first 16 KiB: some streams report it
 * in their first event. Bytes arrive split anywhere; nothing is held but head and tail.
 */

import { concat } from "./json-bytes.ts";

export const TAIL_BYTES = 16 * 1024;
/** Where the report is looked for first. */
const END_BYTES = 1024;
const KEPT_MIN_BYTES = 1024;
/** Room behind the tail, so that it is not moved for every chunk. */
const KEPT_MAX_BYTES = 2 * TAIL_BYTES;

const decoder = new TextDecoder();
const INPUT = /"(?:prompt_tokens|input_tokens)"\s*:\s*(\d+)/g;
const OUTPUT = /"(?:completion_tokens|output_tokens)"\s*:\s*(\d+)/g;

export interface ReportedUsage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

const NOTHING = new Uint8Array(0);

export class UsageScan {
  /** The one chunk so far, as it came: most bodies are one, and need no copy. */
  #only: Uint8Array | null = null;
  /** The last bytes, from its start to `#end`: at least the tail. Moved together when there is no room behind them. */
  #kept = NOTHING;
  #end = 0;
  /** The first bytes, once they are no longer among the kept ones. */
  #head: Uint8Array | null = null;
  #bytes = 0;

  /** The chunk is read again later: it must stay as it is. */
  push(chunk: Uint8Array): void {
    const first = this.#bytes === 0;
    this.#bytes += chunk.byteLength;
    if (first) {
      this.#only = chunk;
      return;
    }
    if (this.#only !== null) this.#keep(this.#only);
    this.#only = null;
    this.#keep(chunk);
  }

  #keep(chunk: Uint8Array): void {
    if (chunk.byteLength > Math.min(this.#kept.byteLength - this.#end, TAIL_BYTES)) this.#makeRoom(chunk);
    const tail = chunk.subarray(Math.max(0, chunk.byteLength - TAIL_BYTES));
    this.#kept.set(tail, this.#end);
    this.#end += tail.byteLength;
  }

  /** Bytes seen in all. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What the body reports, or null when it reports nothing. */
  usage(): ReportedUsage | null {
    const kept = this.#only ?? this.#kept.subarray(0, this.#end);
    const tail = kept.subarray(Math.max(0, kept.byteLength - TAIL_BYTES));
    // The last report is what counts, so that the rest of the tail is only read without one at its end.
    let { inputTokens, outputTokens } = lastReport(tail.subarray(Math.max(0, tail.byteLength - END_BYTES)));
    if (inputTokens === null || outputTokens === null) ({ inputTokens, outputTokens } = lastReport(tail));
    if (inputTokens === null && outputTokens === null) return null;
    const head = this.#head ?? kept.subarray(0, TAIL_BYTES);
    return { inputTokens: inputTokens ?? lastNumber(decoder.decode(head), INPUT), outputTokens };
  }

  /** Room for the end of the chunk: what the tail does not need goes, then the room grows. */
  #makeRoom(chunk: Uint8Array): void {
    const coming = Math.min(chunk.byteLength, TAIL_BYTES);
    if (coming < chunk.byteLength || this.#end + coming > KEPT_MAX_BYTES) {
      this.#head ??= headOf(this.#kept.subarray(0, this.#end), chunk);
      const still = Math.min(this.#end, TAIL_BYTES - coming);
      this.#kept.copyWithin(0, this.#end - still, this.#end);
      this.#end = still;
    }
    const needed = this.#end + coming;
    if (needed <= this.#kept.byteLength) return;
    const roomier = new Uint8Array(Math.min(Math.max(2 * needed, KEPT_MIN_BYTES), KEPT_MAX_BYTES));
    roomier.set(this.#kept.subarray(0, this.#end));
    this.#kept = roomier;
  }
}

/** The first 16 KiB of what has come. */
function headOf(first: Uint8Array, next: Uint8Array): Uint8Array {
  return concat([first.subarray(0, TAIL_BYTES), next.subarray(0, Math.max(0, TAIL_BYTES - first.byteLength))]);
}

function lastReport(bytes: Uint8Array): ReportedUsage {
  const text = decoder.decode(bytes);
  return { inputTokens: lastNumber(text, INPUT), outputTokens: lastNumber(text, OUTPUT) };
}

function lastNumber(text: string, pattern: RegExp): number | null {
  let found: number | null = null;
  // Not by an iterator: each would begin with a copy of the pattern.
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const value = Number(match[1]);
    if (Number.isSafeInteger(value)) found = value;
  }
  return found;
}

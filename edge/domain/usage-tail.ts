/**
 * Finds the usage that a body reports in its last 16 KiB, whatever the body is (decisions §23.1). The last report wins. When
 * the tail reports output alone, the input is looked for in the first 16 KiB: some streams report it in their first event.
 * Bytes arrive split anywhere; nothing is held but head and tail.
 */
import { concat } from "./json-bytes.ts";
import { tokenCount } from "./token-count.ts";

export const TAIL_BYTES = 16 * 1024;
/** Where the report is looked for first. */
const END_BYTES = 1024;
const KEPT_MIN_BYTES = 1024;
/** Room behind the tail, so that it is not moved for every chunk. */
const KEPT_MAX_BYTES = 2 * TAIL_BYTES;
/** Objects called `usage` that are looked at, from the last one back. */
const OBJECTS_MAX = 16;

const decoder = new TextDecoder();
const COUNT = String.raw`\s*:\s*(-?\d[\d.eE+-]*)(?=\s*[,}\]])`;
const INPUT = new RegExp(`"(?:prompt_tokens|input_tokens)"${COUNT}`, "g");
const OUTPUT = new RegExp(`"(?:completion_tokens|output_tokens)"${COUNT}`, "g");
const OPENING = /"usage"\s*:\s*\{/y;

/** Counts that an upstream reports: safe integers of at least 0; null: not reported. */
export interface ReportedUsage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

const NOTHING = new Uint8Array(0);

export class UsageTail {
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

  /** What the body reports, or null when it reports nothing. */
  usage(): ReportedUsage | null {
    const kept = this.#only ?? this.#kept.subarray(0, this.#end);
    const tail = kept.subarray(Math.max(0, kept.byteLength - TAIL_BYTES));
    // The last report is what counts, so that the rest of the tail is only read without one at its end.
    const end = decoder.decode(tail.subarray(Math.max(0, tail.byteLength - END_BYTES)));
    const found = lastObject(end);
    if (found !== null && found.inputTokens !== null && found.outputTokens !== null) return found;
    const text = decoder.decode(tail);
    const { inputTokens, outputTokens } = lastObject(text) ?? lastNumbers(text);
    if (inputTokens === null && outputTokens === null) return null;
    const head = this.#head ?? kept.subarray(0, TAIL_BYTES);
    return { inputTokens: inputTokens ?? lastNumber(decoder.decode(head), INPUT), outputTokens };
  }

  #keep(chunk: Uint8Array): void {
    if (chunk.byteLength > Math.min(this.#kept.byteLength - this.#end, TAIL_BYTES)) this.#makeRoom(chunk);
    const tail = chunk.subarray(Math.max(0, chunk.byteLength - TAIL_BYTES));
    this.#kept.set(tail, this.#end);
    this.#end += tail.byteLength;
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

/** The counts of the last object called `usage` that has any: what a client wrote elsewhere in the body is none. */
function lastObject(text: string): ReportedUsage | null {
  let at = text.length;
  for (let looked = 0; looked < OBJECTS_MAX; looked += 1) {
    at = at === 0 ? -1 : text.lastIndexOf('"usage"', at - 1);
    if (at === -1) return null;
    OPENING.lastIndex = at;
    const found = OPENING.test(text) ? countsOf(text, OPENING.lastIndex - 1) : null;
    if (found !== null) return found;
  }
  return null;
}

/** The counts of the object that opens at `start`, not of those within; null when it has none, or does not close. */
function countsOf(text: string, start: number): ReportedUsage | null {
  const end = closeOf(text, start);
  if (end === null) return null;
  const usage = parsed(text.slice(start, end));
  const count = (...names: readonly string[]): number | null =>
    names.map((name) => countOf(usage?.[name])).findLast((value) => value !== null) ?? null;
  const inputTokens = count("input_tokens", "prompt_tokens");
  const outputTokens = count("output_tokens", "completion_tokens");
  return inputTokens === null && outputTokens === null ? null : { inputTokens, outputTokens };
}

function countOf(value: unknown): number | null {
  return typeof value === "number" ? tokenCount(String(value)) : null;
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}

/** One past the brace that closes the object at `start`; null when none does. */
function closeOf(text: string, start: number): number | null {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (quoted && character === "\\") at += 1;
    else if (character === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (character === "{") depth += 1;
    else if (character === "}") depth -= 1;
    if (depth === 0) return at + 1;
  }
  return null;
}

function lastNumbers(text: string): ReportedUsage {
  return { inputTokens: lastNumber(text, INPUT), outputTokens: lastNumber(text, OUTPUT) };
}

function lastNumber(text: string, pattern: RegExp): number | null {
  let found: number | null = null;
  // Not by an iterator: each would begin with a copy of the pattern.
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    found = tokenCount(match[1] ?? "") ?? found;
  }
  return found;
}

/**
 * Reads the tokens that an upstream reports from the last 16 KiB of its body, whatever the body is (decisions §23.1). The
 * last report wins. When the tail reports output alone, the input is looked for in the first 16 KiB: some streams report it
 * in their first event. Bytes arrive split anywhere; nothing is held but head and tail.
 */

export const TAIL_BYTES = 16 * 1024;

const INPUT = /"(?:prompt_tokens|input_tokens)"\s*:\s*(\d+)/g;
const OUTPUT = /"(?:completion_tokens|output_tokens)"\s*:\s*(\d+)/g;

export interface ReportedUsage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

export class UsageScan {
  #head = new Uint8Array(0);
  #tail = new Uint8Array(0);
  #bytes = 0;

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength;
    if (this.#head.byteLength < TAIL_BYTES)
      this.#head = joined(this.#head, chunk.subarray(0, TAIL_BYTES - this.#head.byteLength));
    if (chunk.byteLength >= TAIL_BYTES) {
      this.#tail = chunk.slice(chunk.byteLength - TAIL_BYTES);
      return;
    }
    const kept = Math.min(this.#tail.byteLength, TAIL_BYTES - chunk.byteLength);
    this.#tail = joined(this.#tail.subarray(this.#tail.byteLength - kept), chunk);
  }

  /** Bytes seen in all. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What the body reports, or null when it reports nothing. */
  usage(): ReportedUsage | null {
    const tail = new TextDecoder().decode(this.#tail);
    const inputTokens = lastNumber(tail, INPUT);
    const outputTokens = lastNumber(tail, OUTPUT);
    if (inputTokens === null && outputTokens === null) return null;
    return { inputTokens: inputTokens ?? lastNumber(new TextDecoder().decode(this.#head), INPUT), outputTokens };
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(a.byteLength + b.byteLength);
  out.set(a);
  out.set(b, a.byteLength);
  return out;
}

function lastNumber(text: string, pattern: RegExp): number | null {
  let found: number | null = null;
  for (const match of text.matchAll(pattern)) {
    const value = Number(match[1]);
    if (Number.isSafeInteger(value)) found = value;
  }
  return found;
}

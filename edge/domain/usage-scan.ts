/**
 * Reads the tokens that an upstream reports from the last 16 KiB of its body, whatever the body is (decisions §23.1). The
 * last report wins. Bytes arrive split anywhere; nothing is held but the tail.
 */

export const TAIL_BYTES = 16 * 1024;

export interface ReportedUsage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

export class UsageScan {
  #tail = new Uint8Array(0);
  #bytes = 0;

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength;
    if (chunk.byteLength >= TAIL_BYTES) {
      this.#tail = chunk.slice(chunk.byteLength - TAIL_BYTES);
      return;
    }
    const kept = Math.min(this.#tail.byteLength, TAIL_BYTES - chunk.byteLength);
    const next = new Uint8Array(kept + chunk.byteLength);
    next.set(this.#tail.subarray(this.#tail.byteLength - kept));
    next.set(chunk, kept);
    this.#tail = next;
  }

  /** Bytes seen in all. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What the tail reports, or null when it reports nothing. */
  usage(): ReportedUsage | null {
    const text = this.#text();
    const inputTokens = lastNumber(text, /"(?:prompt_tokens|input_tokens)"\s*:\s*(\d+)/g);
    const outputTokens = lastNumber(text, /"(?:completion_tokens|output_tokens)"\s*:\s*(\d+)/g);
    return inputTokens === null && outputTokens === null ? null : { inputTokens, outputTokens };
  }

  /** True when an event stream has ended as it should. */
  sawDone(): boolean {
    return /(?:^|\n|\r)data: ?\[DONE\]\s*$/.test(this.#text());
  }

  #text(): string {
    return new TextDecoder().decode(this.#tail);
  }
}

function lastNumber(text: string, pattern: RegExp): number | null {
  let found: number | null = null;
  for (const match of text.matchAll(pattern)) {
    const value = Number(match[1]);
    if (Number.isSafeInteger(value)) found = value;
  }
  return found;
}

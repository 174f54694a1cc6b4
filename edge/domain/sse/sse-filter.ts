/**
 * Lets whole server-sent events through, without changing a byte, and on request without the one that only reports usage
 * (decisions §22.5). Bytes may be split anywhere. What is not whole yet is held back; an event that never ends is let
 * through, so that memory stays bounded. Every byte is looked at once; only an event that may be the one is decoded.
 */
import { CLOSE_BRACKET, CR, LF, OPEN_BRACKET, SPACE, TAB } from "../bytes/ascii.ts";
import { concat, type Span } from "../json/top-level.ts";
import { isUsageEvent } from "./events.ts";

/** Above this an unfinished event is passed on as it comes. */
const EVENT_MAX_BYTES = 1024 * 1024;
const NOTHING = new Uint8Array(0);

export class SseFilter {
  readonly #withholdUsage: boolean;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** The line that the next byte belongs to is empty so far. */
  #lineEmpty = true;
  #afterCr = false;
  /** Of the event under way: lines that have ended, an empty list seen, and its last byte that is no blank. */
  #lines = 0;
  #emptyList = false;
  #lastByte = 0;

  constructor(withholdUsage: boolean) {
    this.#withholdUsage = withholdUsage;
  }

  /** What may be passed on with this chunk: every event that is whole by now, each with its blank line. */
  push(chunk: Uint8Array): Uint8Array {
    const { end, suspects } = this.#scan(chunk);
    const whole = end === 0 ? NOTHING : this.#take(chunk.subarray(0, end));
    this.#hold(chunk.subarray(end));
    const passed = suspects.length === 0 ? whole : withoutUsage(whole, suspects);
    return this.#heldBytes > EVENT_MAX_BYTES ? concat([passed, this.#take(NOTHING)]) : passed;
  }

  /** What is left when the stream ends: an event without its blank line, or nothing. */
  finish(): Uint8Array {
    const rest = this.#take(NOTHING);
    return this.#withholdUsage && isUsageEvent(rest) ? NOTHING : rest;
  }

  /** Where the last whole event ends in the chunk; places of those that may report usage, counted from what is held. */
  #scan(chunk: Uint8Array): { readonly end: number; readonly suspects: readonly Span[] } {
    const suspects: Span[] = [];
    let end = 0;
    for (let at = 0; at < chunk.byteLength; at += 1) {
      const byte = chunk[at] ?? 0;
      if (byte !== LF && byte !== CR) {
        this.#lineEmpty = false;
        this.#afterCr = false;
        if (byte === CLOSE_BRACKET && this.#lastByte === OPEN_BRACKET) this.#emptyList = true;
        if (byte !== SPACE && byte !== TAB) this.#lastByte = byte;
        continue;
      }
      if (byte === LF && this.#afterCr) {
        // Second half of a CR LF that was split from the first: it stays with the bytes that follow.
        this.#afterCr = false;
        continue;
      }
      this.#afterCr = byte === CR;
      if (!this.#lineEmpty) {
        this.#lineEmpty = true;
        this.#lines += 1;
        continue;
      }
      // A CR that ends an event may be the first half of CR LF: take the LF along when it is here.
      if (byte === CR && chunk[at + 1] === LF) {
        at += 1;
        this.#afterCr = false;
      }
      const start = end === 0 ? 0 : end + this.#heldBytes;
      end = at + 1;
      if (this.#isSuspect()) suspects.push({ start, end: end + this.#heldBytes });
      this.#lines = 0;
      this.#emptyList = false;
      this.#lastByte = 0;
    }
    return { end, suspects };
  }

  /** The usage event has no choices: an empty list, in one line if not spread over several. */
  #isSuspect(): boolean {
    return this.#withholdUsage && (this.#emptyList || this.#lines > 1);
  }

  #hold(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return;
    this.#held.push(bytes.slice());
    this.#heldBytes += bytes.byteLength;
  }

  /** What is held, and `last` after it. */
  #take(last: Uint8Array): Uint8Array {
    if (this.#heldBytes === 0) return last;
    const taken = concat([...this.#held, last]);
    this.#held = [];
    this.#heldBytes = 0;
    return taken;
  }
}

function withoutUsage(events: Uint8Array, suspects: readonly Span[]): Uint8Array {
  const kept: Uint8Array[] = [];
  let from = 0;
  for (const { start, end } of suspects) {
    if (!isUsageEvent(events.subarray(start, end))) continue;
    kept.push(events.subarray(from, start));
    from = end;
  }
  if (from === 0) return events;
  kept.push(events.subarray(from));
  return concat(kept);
}

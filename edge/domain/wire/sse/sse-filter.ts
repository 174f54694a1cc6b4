/**
 * Passes whole server-sent events on, and changes a byte only where a transform does. Bytes may be split anywhere. An event
 * that is not complete yet is held back; one that never ends is passed on as it comes, so that memory stays bounded. Every
 * byte is scanned once; a transform sees only the events that concern it.
 */
import { atOnce, type Steps } from "../../../../shared/steps.ts";
import { CLOSE_BRACKET, CR, LF, OPEN_BRACKET, SPACE, TAB } from "../../../../shared/wire/ascii.ts";
import { concat, type Span } from "../bytes/byte-pieces.ts";
import type { EventShape, ResponseTransform } from "./response-transform.ts";

/** Above this an unfinished event is passed on as it comes. */
const EVENT_MAX_BYTES = 1024 * 1024;
/** The same for events that must be seen whole. */
const WHOLE_EVENT_MAX_BYTES = 4 * 1024 * 1024;
const NOTHING = new Uint8Array(0);
/** Work for an event in addition to its content, in units: a short one costs more than its bytes. */
const EVENT_UNITS = 128;

export class SseFilter {
  readonly #transforms: readonly ResponseTransform[];
  readonly #whole: boolean;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** The line that the next byte belongs to is empty so far. */
  #lineEmpty = true;
  #afterCr = false;
  /** Of the current event: lines that have ended, whether an empty list was seen, and its last byte that is not blank. */
  #lines = 0;
  #emptyList = false;
  #lastByte = 0;

  /**
   * `transforms` change the events, in this order. `whole`: no transform may miss anything, so that an event which never
   * ends is an error.
   */
  constructor(transforms: readonly ResponseTransform[], whole = false) {
    this.#transforms = transforms;
    this.#whole = whole;
  }

  /**
   * The part that may be passed on with this chunk: every complete event, each with its blank line. Throws when an event never
   * ends and every event must be seen whole.
   */
  push(chunk: Uint8Array): Uint8Array {
    return atOnce(this.pushing(chunk));
  }

  /** The same in steps. */
  *pushing(chunk: Uint8Array): Steps<Uint8Array> {
    const { end, concerned } = this.#scan(chunk);
    const whole = end === 0 ? NOTHING : this.#take(chunk.subarray(0, end));
    this.#hold(chunk.subarray(end));
    const passed = concerned.length === 0 ? whole : yield* this.#changed(whole, concerned);
    if (this.#heldBytes <= (this.#whole ? WHOLE_EVENT_MAX_BYTES : EVENT_MAX_BYTES)) return passed;
    if (this.#whole) throw new Error("an event that never ends");
    return concat([passed, this.#take(NOTHING)]);
  }

  /** The rest when the stream ends: an event without its blank line, or nothing. */
  finish(): Uint8Array {
    return atOnce(this.finishing());
  }

  /** The same in steps. */
  *finishing(): Steps<Uint8Array> {
    const rest = this.#take(NOTHING);
    return rest.byteLength === 0 ? rest : yield* this.#transform(rest);
  }

  /**
   * Where the last complete event ends in the chunk, and the places of events that concern a transform, counted from the start
   * of the held bytes.
   */
  #scan(chunk: Uint8Array): { readonly end: number; readonly concerned: readonly Span[] } {
    const concerned: Span[] = [];
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
        // Second half of a CR LF that was split: it stays with the bytes that follow.
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
      if (this.#concerns()) concerned.push({ start, end: end + this.#heldBytes });
      this.#lines = 0;
      this.#emptyList = false;
      this.#lastByte = 0;
    }
    return { end, concerned };
  }

  /** Whether the event that has just ended concerns any transform; one of blank lines has nothing to change. */
  #concerns(): boolean {
    if (this.#lines === 0) return false;
    const shape: EventShape = { lines: this.#lines, emptyList: this.#emptyList };
    for (const transform of this.#transforms) if (transform.concerns(shape)) return true;
    return false;
  }

  #hold(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return;
    this.#held.push(bytes.slice());
    this.#heldBytes += bytes.byteLength;
  }

  /** The held bytes, followed by `last`. */
  #take(last: Uint8Array): Uint8Array {
    if (this.#heldBytes === 0) return last;
    const taken = concat([...this.#held, last]);
    this.#held = [];
    this.#heldBytes = 0;
    return taken;
  }

  /** Complete events, with those replaced that concern a transform. */
  *#changed(events: Uint8Array, concerned: readonly Span[]): Steps<Uint8Array> {
    const kept: Uint8Array[] = [];
    let from = 0;
    for (const { start, end } of concerned) {
      const event = events.subarray(start, end);
      yield EVENT_UNITS;
      const instead = yield* this.#transform(event);
      if (instead === event) continue;
      kept.push(events.subarray(from, start), instead);
      from = end;
    }
    if (from === 0) return events;
    kept.push(events.subarray(from));
    return concat(kept);
  }

  /** Applies every transform to one event; when one withholds the event, the others do not see it. */
  *#transform(event: Uint8Array): Steps<Uint8Array> {
    let passed = event;
    for (const transform of this.#transforms) {
      if (passed.byteLength === 0) break;
      passed = yield* transform.event(passed);
    }
    return passed;
  }
}

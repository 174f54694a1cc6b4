/**
 * Reads one JSON string after another, from behind its opening quote to its closing one, cut anywhere: to pass over it, to
 * recognise a name, or to count its characters. Nothing is decoded and nothing is kept.
 */
import { BACKSLASH, QUOTE } from "../bytes/ascii.ts";
import { NAME_NONE, NAME_START, type NameTable } from "../bytes/name-table.ts";

/** What a string is read for. */
export const StringUse = { Nothing: 0, Name: 1, Characters: 2 } as const;

const LOWER_U = 0x75;
/** So much of a string is passed over byte by byte: a search costs more to begin. */
const NEAR_BYTES = 128;

export class JsonStringReader {
  readonly #names: NameTable;
  #use: number = StringUse.Nothing;
  #open = false;
  #state = NAME_NONE;
  #characters = 0;
  /** 0: none; 1: after a backslash; 2 to 5: digits of a code that are to come, plus 1. */
  #escape = 0;
  #code = 0;

  constructor(names: NameTable) {
    this.#names = names;
  }

  /** A string has been opened that has not been closed. */
  get open(): boolean {
    return this.#open;
  }

  /** The number of the name that the last string was; 0: none that is known, or it was not read for that. */
  get found(): number {
    return this.#names.found[this.#state] ?? 0;
  }

  /** Code points that have come since they were taken last; 0 of a string that is not read for them. */
  takeCharacters(): number {
    const characters = this.#characters;
    this.#characters = 0;
    return characters;
  }

  /** An opening quote has been read. */
  begin(use: number): void {
    this.#use = use;
    this.#open = true;
    this.#state = use === StringUse.Name ? NAME_START : NAME_NONE;
    this.#characters = 0;
    this.#escape = 0;
  }

  /** Forgets a string that has not been closed. */
  reset(): void {
    this.#open = false;
    this.#characters = 0;
  }

  /** Reads on. Answers where it stopped: at `to`, or behind the quote that closes the string. */
  push(bytes: Uint8Array, from: number, to: number): number {
    if (this.#use === StringUse.Characters) return this.#count(bytes, from, to);
    return this.#skip(bytes, this.#state === NAME_NONE ? from : this.#match(bytes, from, to), to);
  }

  /** Follows a name for as long as it may be one that is known: those are written without escapes. */
  #match(bytes: Uint8Array, from: number, to: number): number {
    const { steps } = this.#names;
    let state = this.#state;
    let at = from;
    while (at < to) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE) break;
      state = byte < 128 ? (steps[state * 128 + byte] ?? NAME_NONE) : NAME_NONE;
      if (state === NAME_NONE) break;
      at += 1;
    }
    this.#state = state;
    return at;
  }

  #skip(bytes: Uint8Array, from: number, to: number): number {
    let at = from;
    // What follows a code's first letter are no quotes: it is enough to pass over one byte.
    if (this.#escape !== 0 && at < to) {
      this.#escape = 0;
      at += 1;
    }
    const far = at + NEAR_BYTES;
    while (at < to) {
      if (at >= far) return this.#skipFar(bytes, at, to);
      const byte = bytes[at];
      at += 1;
      if (byte === QUOTE) {
        this.#open = false;
        return at;
      }
      if (byte !== BACKSLASH) continue;
      if (at === to) this.#escape = 1;
      at += 1;
    }
    return to;
  }

  /** The same of a long string (an image), from where no escape is under way: the engine looks for its quotes. */
  #skipFar(bytes: Uint8Array, from: number, to: number): number {
    const rest = bytes.subarray(from, to);
    for (let quote = rest.indexOf(QUOTE); quote !== -1; quote = rest.indexOf(QUOTE, quote + 1)) {
      if (endsInEscape(rest, quote)) continue;
      this.#open = false;
      return from + quote + 1;
    }
    if (endsInEscape(rest, rest.length)) this.#escape = 1;
    return to;
  }

  #count(bytes: Uint8Array, from: number, to: number): number {
    let characters = 0;
    let at = from;
    while (at < to && this.#open) {
      let byte = bytes[at] ?? 0;
      if (this.#escape === 0) {
        while (byte !== QUOTE && byte !== BACKSLASH) {
          // the first byte of a character, and not one of those that follow it
          if ((byte & 0xc0) !== 0x80) characters += 1;
          at += 1;
          if (at === to) break;
          byte = bytes[at] ?? 0;
        }
        if (at === to) break;
      }
      at += 1;
      if (this.#escape !== 0) characters += this.#escaped(byte);
      else if (byte === QUOTE) this.#open = false;
      else this.#escape = 1;
    }
    this.#characters += characters;
    return at;
  }

  /** A byte after a backslash. Answers the characters that it completes: the second half of a pair is none. */
  #escaped(byte: number): number {
    if (this.#escape === 1) {
      this.#escape = byte === LOWER_U ? 5 : 0;
      this.#code = 0;
      return byte === LOWER_U ? 0 : 1;
    }
    this.#code = this.#code * 16 + hexOf(byte);
    this.#escape = this.#escape === 2 ? 0 : this.#escape - 1;
    return this.#escape !== 0 || (this.#code >= 0xdc00 && this.#code <= 0xdfff) ? 0 : 1;
  }
}

/** The last byte before `end` is a backslash that is not escaped itself. */
function endsInEscape(bytes: Uint8Array, end: number): boolean {
  let backslashes = 0;
  while (bytes[end - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}

function hexOf(byte: number): number {
  // the low half of a digit, and of a letter less one: 0x41 and 0x61 are A
  return byte < 0x40 ? byte & 0x0f : (byte & 0x0f) + 9;
}

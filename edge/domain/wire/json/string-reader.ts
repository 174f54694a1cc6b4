/**
 * Reads JSON strings that may be cut anywhere, each from after its opening quote to its closing one: to skip it, to
 * recognise a name, or to count its characters. Nothing is kept.
 */
import { BACKSLASH, QUOTE } from "../../../../shared/wire/ascii.ts";
import { IN_ESCAPE, stringEnd } from "../../../../shared/wire/json-skip.ts";
import { NAME_NONE, NAME_START, type NameTable } from "../bytes/name-table.ts";

/** The purpose of reading a string. */
export const StringUse = { Nothing: 0, Name: 1, Characters: 2 } as const;

const LOWER_U = 0x75;
const ASCII = 128;

export class JsonStringReader {
  readonly #names: NameTable;
  #use: number = StringUse.Nothing;
  #open = false;
  #state = NAME_NONE;
  #characters = 0;
  /** 0: none; 1: after a backslash; 2 to 5: the digits of a code that are still to come, plus 1. */
  #escape = 0;
  #code = 0;

  constructor(names: NameTable) {
    this.#names = names;
  }

  /** True while a string has been opened and not closed. */
  get open(): boolean {
    return this.#open;
  }

  /** The number of the known name that the last string was; 0: not a known name, or not read for its name. */
  get found(): number {
    return this.#names.found[this.#state] ?? 0;
  }

  /** Code points that have come since this was last called; 0 for a string that is not read for them. */
  takeCharacters(): number {
    const characters = this.#characters;
    this.#characters = 0;
    return characters;
  }

  /** To be called after an opening quote. */
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

  /** Reads on. Returns where it stopped: at `to`, or after the quote that closes the string. */
  push(bytes: Uint8Array, from: number, to: number): number {
    if (this.#use === StringUse.Characters) return this.#count(bytes, from, to);
    return this.#skip(bytes, this.#state === NAME_NONE ? from : this.#match(bytes, from, to), to);
  }

  /** Follows a name as long as it may be a known one. */
  #match(bytes: Uint8Array, from: number, to: number): number {
    const { steps } = this.#names;
    let state = this.#state;
    let at = from;
    for (; at < to && state !== NAME_NONE; at += 1) {
      let unit = bytes[at] ?? 0;
      if (this.#escape !== 0) {
        // a string with a one-letter escape is not a known name
        const isCode = this.#escape > 1 || unit === LOWER_U;
        this.#escaped(unit);
        if (this.#escape !== 0) continue;
        unit = isCode ? this.#code : ASCII;
      } else if (unit === QUOTE) break;
      else if (unit === BACKSLASH) {
        this.#escape = 1;
        continue;
      }
      state = unit < ASCII ? (steps[state * ASCII + unit] ?? NAME_NONE) : NAME_NONE;
    }
    this.#state = state;
    return at;
  }

  #skip(bytes: Uint8Array, from: number, to: number): number {
    if (from === to) return to;
    // The bytes after a code's first letter are not quotes: skipping one byte is enough.
    const end = stringEnd(bytes, this.#escape === 0 ? from : from + 1, to);
    this.#escape = end === IN_ESCAPE ? 1 : 0;
    if (end < 0) return to;
    this.#open = false;
    return end;
  }

  #count(bytes: Uint8Array, from: number, to: number): number {
    let characters = 0;
    let at = from;
    while (at < to && this.#open) {
      let byte = bytes[at] ?? 0;
      if (this.#escape === 0) {
        while (byte !== QUOTE && byte !== BACKSLASH) {
          // the first byte of a character, not a continuation byte
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

  /**
   * A byte after a backslash. Returns how many characters it completes: the second half of a surrogate pair completes none.
   */
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

function hexOf(byte: number): number {
  // the low half of a digit, and of a letter less one: 0x41 and 0x61 are A
  return byte < 0x40 ? byte & 0x0f : (byte & 0x0f) + 9;
}

/**
 * The places of the strings of a JSON document, with the path of each: a body is examined and changed in the client's own
 * bytes, so that every string is seen whole, a member that occurs twice is seen twice, and everything unchanged keeps its
 * bytes. The document is valid JSON already: nothing is checked here. Time is linear in the bytes.
 */
import type { Steps } from "../../../../shared/steps.ts";
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  CR,
  LF,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
  TAB,
} from "../../../../shared/wire/ascii.ts";
import { IN_ESCAPE, isOfNumbers, numbersEnd, stringEnd } from "../../../../shared/wire/json-skip.ts";
import { BytePieces, type Span } from "../bytes/byte-pieces.ts";
import { wholeUntil } from "./cut-strings.ts";

/**
 * The names of members, and a number for each element of a list that differs from the numbers of the list's other strings,
 * objects and lists. A place deeper than {@link PATH_MAX} steps has the path of its ancestor at this depth.
 */
export type JsonPath = readonly (string | number)[];

/** A string value, the name of a member, or a number; the span includes quotes. The path of a name ends with the name. */
export interface StringPlace<Known> {
  readonly path: JsonPath;
  readonly span: Span;
  /** True for a number, too: like a name it is complete in itself. */
  readonly isName: boolean;
  readonly known: Known;
}

/** Honest documents are not deeper. */
const PATH_MAX = 64;
/**
 * A longer name is cut, in characters: no name that means anything is so long, unless a NUL ends what means it. The longest path is
 * short enough, as JSON with every character escaped, for the engine to hash it ({@link HASHED_MAX}).
 */
export const PATH_NAME_MAX = 40;
/** As long as the quote and that many characters can be. */
const NAME_MAX_BYTES = 1 + PATH_NAME_MAX * "\\u0000".length;
/** The characters of a string that are whole, from its quote on. */
const WHOLE_CHARACTERS = /^"(?:[^"\\]|\\u[0-9a-f]{4}|\\[^u])*/i;

/** Longest part of a document, in bytes, that is read without a step. */
const PART_BYTES = 16 * 1024;
/** Work for a string, and for its characters, in units. */
const STRING_UNITS = 24;
/** Characters of a path that one unit of work looks at. */
const CHARACTERS_PER_UNIT = 8;
/** Steps of a path that one unit of work copies. */
const STEPS_PER_UNIT = 8;
/** Work for an object or a list. */
const CONTAINER_UNITS = 8;
const BYTES_PER_UNIT = 4;
/** A step is taken after so many units. */
const STEP_UNITS = 1024;

const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/** A reader's facts about a path. */
export interface Way<Known> {
  /** Of the document. */
  readonly top: Known;
  /**
   * The facts of a path with one more step: computed once for each name and for each object or list. The strings and numbers of
   * a list share them.
   */
  readonly below: (up: Known, step: string | number) => Known;
}

export const UNKNOWN_WAY: Way<null> = { top: null, below: () => null };

/**
 * The string values and names of a document in these pieces, in order, that are `wanted`. `notString` gets the path of every
 * member whose value is no string, and its first byte; `number` the path of numbers: of the first at least, where several
 * follow one another in a list. Numbers for which it is true are found, too. A path given to one of them is only valid during
 * the call. They must not look at all its steps, which would be work for each string: `way` holds the facts of the path,
 * computed once.
 */
export function* stringPlaces<Known>(
  pieces: readonly Uint8Array[],
  { top, below }: Way<Known>,
  wanted: (path: JsonPath, isName: boolean, span: Span, known: Known) => boolean,
  notString: (path: JsonPath, byte: number, known: Known) => void = () => undefined,
  number: (path: JsonPath, known: Known) => boolean = () => false,
): Steps<readonly StringPlace<Known>[]> {
  const document = new BytePieces(pieces);
  const cursor = new Cursor(pieces);
  const found: StringPlace<Known>[] = [];
  const known: Known[] = [];
  const path: (string | number)[] = [];
  let depth = 0;
  let [told, stepAt] = [0, 0];
  const knownAt = (at: number): Known => (at < 0 ? top : (known[at] as Known));
  const know = (): void => {
    const at = path.length - 1;
    known[at] = below(knownAt(at - 1), path[at] ?? 0);
  };
  const last = (): Known => knownAt(path.length - 1);
  for (let byte = cursor.peek(); byte !== -1; byte = cursor.peek()) {
    const units = told + (cursor.at - stepAt) / BYTES_PER_UNIT;
    if (units >= STEP_UNITS) {
      yield units;
      [told, stepAt] = [0, cursor.at];
    }
    const start = cursor.at;
    cursor.skip();
    switch (byte) {
      case QUOTE: {
        told += STRING_UNITS;
        while (!cursor.skippedString()) {
          yield PART_BYTES / BYTES_PER_UNIT;
          stepAt = cursor.at;
        }
        const span = { start, end: cursor.at };
        while (!cursor.skippedSpace()) yield PART_BYTES / BYTES_PER_UNIT;
        const isName = cursor.peek() === COLON;
        const isStep = isName && depth > 0 && depth <= PATH_MAX;
        if (isStep) {
          path[depth - 1] = nameAt(document, span);
          know();
        }
        told += path.length / STEPS_PER_UNIT;
        if (wanted(path, isName, span, last())) found.push({ path: path.slice(), span, isName, known: last() });
        if (isStep) {
          cursor.skip();
          while (!cursor.skippedSpace()) yield PART_BYTES / BYTES_PER_UNIT;
          const first = cursor.peek();
          if (first !== QUOTE) notString(path, first, last());
        }
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        told += CONTAINER_UNITS;
        depth += 1;
        if (depth > PATH_MAX) break;
        if (typeof path[depth - 2] === "number") know();
        path.push(byte === OPEN_BRACE ? "" : 0);
        if (byte === OPEN_BRACKET) know();
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (depth > 0 && depth <= PATH_MAX) path.pop();
        depth -= 1;
        break;
      case COMMA: {
        const last = path[depth - 1];
        if (typeof last === "number") path[depth - 1] = last + 1;
        break;
      }
      default:
        if (byte !== MINUS && (byte < 0x30 || byte > 0x39)) break;
        told += path.length / STEPS_PER_UNIT;
        if (number(path, last())) {
          told += STRING_UNITS;
          while (!cursor.skippedNumber()) yield PART_BYTES / BYTES_PER_UNIT;
          found.push({ path: path.slice(), span: { start, end: cursor.at }, isName: true, known: last() });
        } else cursor.skipNumbers();
    }
  }
  return found;
}

/** The text of a string of a document, or a number in its written form. */
export function* stringAt(document: BytePieces, { start, end }: Span, partBytes = PART_BYTES): Steps<string> {
  if (end - start <= partBytes) return parsedString(document.slice(start, end));
  let text = "";
  for (let at = start + 1; at < end - 1; ) {
    const part = document.slice(at, Math.min(at + partBytes + 1, end - 1));
    const to = wholeUntil(part, partBytes);
    text += String(JSON.parse(`"${decoder.decode(part.subarray(0, to))}"`));
    at += to;
    yield to / BYTES_PER_UNIT;
  }
  return text;
}

function nameAt(document: BytePieces, span: Span): string {
  return stringStartAt(document, span, NAME_MAX_BYTES).slice(0, PATH_NAME_MAX);
}

/** The start of a string's text: the characters in so many bytes from its quote on. */
export function stringStartAt(document: BytePieces, { start, end }: Span, bytes: number): string {
  if (end - start <= bytes) return parsedString(document.slice(start, end));
  const cut = decoder.decode(document.slice(start, start + bytes));
  return String(JSON.parse(`${WHOLE_CHARACTERS.exec(cut)?.[0] ?? '"'}"`));
}

/** Work for looking at every step of a path, in units. */
export function pathUnitsOf(path: JsonPath): number {
  return path.reduce<number>((sum, step) => sum + 1 + lengthOf(step) / CHARACTERS_PER_UNIT, 0);
}

function lengthOf(step: string | number | undefined): number {
  return typeof step === "string" ? step.length : 0;
}

function parsedString(bytes: Uint8Array): string {
  const json = decoder.decode(bytes);
  return bytes[0] === QUOTE ? String(JSON.parse(json)) : json;
}

/** Reads the pieces in order, in parts of a bounded length. */
class Cursor {
  readonly #pieces: readonly Uint8Array[];
  #piece = new Uint8Array(0) as Uint8Array;
  #next = 0;
  /** The part of the piece that is read; offsets of the piece in the document, of the part, and of the next byte. */
  #part = this.#piece;
  #base = 0;
  #partAt = 0;
  #offset = 0;
  /** A string continues after a backslash. */
  #escaped = false;

  constructor(pieces: readonly Uint8Array[]) {
    this.#pieces = pieces;
  }

  /** The offset of the next byte in the document. */
  get at(): number {
    return this.#base + this.#partAt + this.#offset;
  }

  /** The next byte; -1 at the end. */
  peek(): number {
    while (this.#offset === this.#part.byteLength) {
      this.#partAt += this.#offset;
      this.#offset = 0;
      if (this.#partAt === this.#piece.byteLength) {
        const next = this.#pieces[this.#next];
        this.#part = new Uint8Array(0);
        if (next === undefined) return -1;
        this.#base += this.#partAt;
        this.#partAt = 0;
        this.#piece = next;
        this.#next += 1;
      }
      this.#part = this.#piece.subarray(this.#partAt, this.#partAt + PART_BYTES);
    }
    return this.#part[this.#offset] ?? -1;
  }

  skip(): void {
    this.#offset += 1;
  }

  /** Continues, from after the quote that opens a string, within one part. True: past the quote that closes it. */
  skippedString(): boolean {
    if (this.peek() === -1) return true;
    if (this.#escaped) this.skip();
    const end = stringEnd(this.#part, this.#offset);
    this.#escaped = end === IN_ESCAPE;
    this.#offset = end < 0 ? this.#part.byteLength : end;
    return end >= 0;
  }

  /** Continues past blanks, within one part. True: something else follows. */
  skippedSpace(): boolean {
    this.peek();
    const part = this.#part;
    let at = this.#offset;
    while (part[at] === SPACE || part[at] === LF || part[at] === CR || part[at] === TAB) at += 1;
    this.#offset = at;
    return at < part.byteLength || this.peek() === -1;
  }

  /** Continues in a number, within one part. True: something else follows. */
  skippedNumber(): boolean {
    this.peek();
    const part = this.#part;
    let at = this.#offset;
    for (let byte = part[at] ?? 0; byte > SPACE && byte !== COMMA && isOfNumbers(byte); byte = part[at] ?? 0) at += 1;
    this.#offset = at;
    return at < part.byteLength || this.peek() === -1;
  }

  /** After the first digit of a number: skips it and the numbers after it in a list. */
  skipNumbers(): void {
    this.#offset = numbersEnd(this.#part, this.#offset, this.#part.byteLength);
  }
}

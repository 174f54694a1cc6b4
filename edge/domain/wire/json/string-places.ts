/**
 * Where the strings of a JSON document stand, with the path of each: a body is examined and changed in the
 * client's own bytes, so that every string is seen whole, a member that occurs twice is seen twice, and everything that
 * is not changed stays as it was. The document is valid JSON already: nothing is checked here. Time is linear in the
 * bytes.
 */
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  CR,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
  TAB,
} from "../../../../shared/wire/ascii.ts";
import { numbersEnd } from "../../../../shared/wire/json-skip.ts";
import { BytePieces, type Span } from "../bytes/byte-pieces.ts";

/**
 * The names of members, and a number for each element of a list that differs from the numbers of the list's other
 * strings, objects and lists. Of what is deeper than {@link PATH_MAX} steps, the path is that of the place at this depth.
 */
export type JsonPath = readonly (string | number)[];

/** A string value, or the name of a member; the span includes its quotes. The path of a name ends with the name. */
export interface StringPlace {
  readonly path: JsonPath;
  readonly span: Span;
  readonly isName: boolean;
}

/** Honest documents are not deeper. */
const PATH_MAX = 64;
/** A longer name is cut: no name that means anything is so long, unless a NUL ends what means it. */
const NAME_MAX_BYTES = 1024;
/** The characters of a string that are whole, from its quote on. */
const WHOLE_CHARACTERS = /^"(?:[^"\\]|\\u[0-9a-f]{4}|\\[^u])*/i;

const decoder = new TextDecoder();

/**
 * The string values and names of a document in these pieces, in order, that are `wanted`. `notString` gets the path of
 * every member whose value is no string. A path given to either is only valid during the call.
 */
export function stringPlaces(
  pieces: readonly Uint8Array[],
  wanted: (path: JsonPath, isName: boolean) => boolean,
  notString: (path: JsonPath) => void = () => undefined,
): readonly StringPlace[] {
  const document = new BytePieces(pieces);
  const cursor = new Cursor(pieces);
  const found: StringPlace[] = [];
  const path: (string | number)[] = [];
  let depth = 0;
  for (let byte = cursor.peek(); byte !== -1; byte = cursor.peek()) {
    const start = cursor.at;
    cursor.skip();
    switch (byte) {
      case QUOTE: {
        cursor.skipString();
        const span = { start, end: cursor.at };
        const isName = cursor.peekPastSpace() === COLON;
        const isStep = isName && depth > 0 && depth <= PATH_MAX;
        if (isStep) path[depth - 1] = nameAt(document, span);
        if (wanted(path, isName)) found.push({ path: path.slice(), span, isName });
        if (isStep) {
          cursor.skip();
          if (cursor.peekPastSpace() !== QUOTE) notString(path);
        }
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth += 1;
        if (depth <= PATH_MAX) path.push(byte === OPEN_BRACE ? "" : 0);
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
        cursor.skipNumbers();
    }
  }
  return found;
}

/** The text of a string of a document. */
export function stringAt(document: BytePieces, { start, end }: Span): string {
  return parsedString(document.slice(start, end));
}

function nameAt(document: BytePieces, { start, end }: Span): string {
  if (end - start <= NAME_MAX_BYTES) return parsedString(document.slice(start, end));
  const cut = decoder.decode(document.slice(start, start + NAME_MAX_BYTES));
  return String(JSON.parse(`${WHOLE_CHARACTERS.exec(cut)?.[0] ?? '"'}"`));
}

function parsedString(bytes: Uint8Array): string {
  return String(JSON.parse(decoder.decode(bytes)));
}

/** Reads the pieces in order. */
class Cursor {
  readonly #pieces: readonly Uint8Array[];
  #piece: Uint8Array;
  #next = 0;
  /** Offsets of the piece in the document, and of the next byte in the piece. */
  #base = 0;
  #offset = 0;

  constructor(pieces: readonly Uint8Array[]) {
    this.#pieces = pieces;
    this.#piece = new Uint8Array(0);
  }

  /** The offset of the next byte in the document. */
  get at(): number {
    return this.#base + this.#offset;
  }

  /** The next byte; -1 at the end. */
  peek(): number {
    while (this.#offset === this.#piece.byteLength) {
      const next = this.#pieces[this.#next];
      if (next === undefined) return -1;
      this.#base += this.#piece.byteLength;
      this.#offset = 0;
      this.#piece = next;
      this.#next += 1;
    }
    return this.#piece[this.#offset] ?? -1;
  }

  skip(): void {
    this.#offset += 1;
  }

  /** Goes past the quote that closes a string, from after the one that opens it. */
  skipString(): void {
    let escaped = false;
    while (this.peek() !== -1) {
      if (escaped) {
        this.#offset += 1;
        escaped = false;
        continue;
      }
      const quote = this.#piece.indexOf(QUOTE, this.#offset);
      const end = quote === -1 ? this.#piece.byteLength : quote;
      let backslashes = 0;
      while (end - 1 - backslashes >= this.#offset && this.#piece[end - 1 - backslashes] === BACKSLASH)
        backslashes += 1;
      escaped = backslashes % 2 === 1;
      this.#offset = end;
      if (quote === -1 || escaped) continue;
      this.#offset += 1;
      return;
    }
  }

  /** Goes past blanks; returns the byte after them. */
  peekPastSpace(): number {
    let byte = this.peek();
    while (byte === SPACE || byte === LF || byte === CR || byte === TAB) {
      this.skip();
      byte = this.peek();
    }
    return byte;
  }

  /** After the first character of a number: goes past it and the numbers that follow it in a list. */
  skipNumbers(): void {
    const piece = this.#piece;
    if (!isDigit(piece[this.#offset - 1] ?? 0)) return;
    this.#offset = numbersEnd(piece, this.#offset, piece.byteLength);
  }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/**
 * JSON as bytes: the places of the top-level members. It never decides validity alone: JSON.parse parses the same bytes.
 * Offsets are byte offsets; `end` is exclusive.
 */
import type { Steps } from "../steps.ts";
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
} from "./ascii.ts";
import { stringEnd } from "./json-skip.ts";

const decoder = new TextDecoder();
/** A longer string is not read character by character. */
const PLAIN_MAX = 64;

interface Span {
  readonly start: number;
  readonly end: number;
}

interface Member {
  readonly name: string;
  readonly value: Span;
  /** How many names the objects in its value have. */
  readonly names: number;
  /** How many members of the whole object precede it. */
  readonly position: number;
  /** The bytes to remove with the member if other members before it stay: from the end of the last one to its value's end. */
  readonly withComma: Span;
  /** The bytes to remove with it if none before it stays: from its name to the name of the next member. */
  readonly toNext: Span;
}

/** The top-level object of a document: its members in order, and the place of its closing brace. */
export interface TopLevel {
  readonly members: readonly Member[];
  /** How many names all objects of the document have, with this one. */
  readonly names: number;
  readonly closeAt: number;
}

/** A step is taken after so many bytes, or the end of a string. Within a value a unit of work is as many. */
const STEP_BYTES = 4 * 1024;
const BYTES_PER_UNIT = 4;

/** Honest documents do not have more members of the wanted names. */
const MEMBERS_MAX = 10_000;

/**
 * Members of the top-level object whose names are `wanted`, or null when the bytes are not one object, or one of more than
 * 10,000 such members. Duplicate names are all listed. A name is compared with its escapes undone.
 */
export function* scanTopLevel(
  bytes: Uint8Array,
  wanted: (name: string) => boolean = () => true,
): Steps<TopLevel | null> {
  const members: Member[] = [];
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== OPEN_BRACE) return null;
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === CLOSE_BRACE) return endsAt(bytes, at) ? { members, names: 0, closeAt: at } : null;
  let [before, stepAt, names] = [at, at, 0];
  for (let position = 0; ; position += 1) {
    if (bytes[at] !== QUOTE) return null;
    const nameAt = at;
    const nameEnd = stringEnd(bytes, at + 1);
    const name = nameEnd < 0 ? null : decodeString(bytes, { start: at, end: nameEnd });
    if (name === null) return null;
    at = skipSpace(bytes, nameEnd);
    if (bytes[at] !== COLON) return null;
    const start = skipSpace(bytes, at + 1);
    const value = yield* valueAt(bytes, start);
    const { end } = value;
    if (end <= start) return null;
    names += 1 + value.names;
    at = skipSpace(bytes, end);
    const last = bytes[at] === CLOSE_BRACE;
    if (!last && bytes[at] !== COMMA) return null;
    const next = last ? at : skipSpace(bytes, at + 1);
    if (wanted(name)) {
      const withComma = { start: before, end };
      members.push({ name, value, names: value.names, position, withComma, toNext: { start: nameAt, end: next } });
    }
    if (members.length > MEMBERS_MAX) return null;
    if (last) return endsAt(bytes, at) ? { members, names, closeAt: at } : null;
    before = end;
    at = next;
    if (at - stepAt >= STEP_BYTES) {
      yield STEP_BYTES;
      stepAt = at;
    }
  }
}

function decodeString(bytes: Uint8Array, span: Span): string | null {
  // Names are short and plain: what a decoder and a parser would cost for each is more than all of the scan.
  let plain = "";
  for (let at = span.start + 1; at < span.end - 1; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x20 || byte > 0x7e || byte === BACKSLASH || plain.length === PLAIN_MAX)
      return parsedString(bytes, span);
    plain += String.fromCharCode(byte);
  }
  return plain;
}

function parsedString(bytes: Uint8Array, span: Span): string | null {
  try {
    const value: unknown = JSON.parse(decoder.decode(bytes.subarray(span.start, span.end)));
    return typeof value === "string" ? value : null;
  } catch {
    return null;
  }
}

/** The value at `start`, with the names in it; an end below 0: it is not closed. */
function* valueAt(bytes: Uint8Array, start: number): Steps<Span & { readonly names: number }> {
  const first = bytes[start];
  if (first === QUOTE) return { start, end: stringEnd(bytes, start + 1), names: 0 };
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return { start, end: scalarEnd(bytes, start), names: 0 };
  let [depth, stepAt, names] = [0, start, 0];
  for (let at = start; at < bytes.byteLength; at += 1) {
    if (at - stepAt >= STEP_BYTES) {
      yield STEP_BYTES / BYTES_PER_UNIT;
      stepAt = at;
    }
    const byte = bytes[at];
    if (byte === QUOTE) {
      const end = stringEnd(bytes, at + 1);
      if (end < 0) return { start, end, names };
      at = end - 1;
    } else if (byte === COLON) {
      names += 1;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return { start, end: at + 1, names };
    }
  }
  return { start, end: -1, names };
}

function scalarEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.byteLength && bytes[at] !== COMMA && bytes[at] !== CLOSE_BRACE && !isSpace(bytes[at])) at += 1;
  return at;
}

function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.byteLength && isSpace(bytes[at])) at += 1;
  return at;
}

function endsAt(bytes: Uint8Array, closeAt: number): boolean {
  return skipSpace(bytes, closeAt + 1) === bytes.byteLength;
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === LF || byte === CR || byte === TAB;
}

/**
 * `JSON.parse` in steps: a large document is parsed run by run of its members and elements, because no other request runs while
 * the engine parses. Containers that are longer than a run are entered. The result is that of `JSON.parse`.
 */

import { LIMITS } from "../../../../shared/catalogues/limits.ts";
import type { Steps } from "../../../../shared/steps.ts";
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
import { backslashesBefore, stringEnd } from "../../../../shared/wire/json-skip.ts";
import { joinedInSteps } from "../bytes/byte-pieces.ts";
import { HASHED_MAX } from "../text/hashed-key.ts";
import { LongText } from "../text/long-text.ts";
import { farStringEnd, weightOfJson } from "./weight.ts";

/** Bytes that are parsed at once, up to the end of the string that they cut. */
const RUN_BYTES = 32 * 1024;
/** A text up to this size takes no more memory than a document may, whatever it contains. */
const NEVER_HEAVY_BYTES = LIMITS.jsonBodyMemory / 64;
/** White space in a row, and digits of a number: no document has more. */
const GAP_MAX_BYTES = 64 * 1024;
/** No document is deeper; each level takes memory. */
const DEPTH_MAX = 16 * 1024;
/** No object of a long document has more names, except names of one run: callers list names without a pause. */
const NAMES_MAX = 32 * 1024;
/** No name of a long document is longer. */
const NAME_MAX_BYTES = HASHED_MAX;
/** Work for a string or a container, for another element, and for bytes, in units. */
const VALUE_UNITS = 16;
const ELEMENT_UNITS = 2;
const BYTES_PER_UNIT = 16;
const STEP_UNITS = 1024;
/** How a list or an object starts, and a text whose start does not tell. */
const UNREAD = /^\s*(?:\{|\[\s*(?:["{[]|(?:null|true|false|-?(?:\d[\d.eE+-]*|NaN|Infinity))\s*,))/;
const UNDECIDED = /^\s*\[?[\s\d.eE+-]*$/;
/** Bytes of numbers, words and white space, and colons. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) => (/[",[\]{}]/.test(String.fromCharCode(byte)) ? 0 : 1));

/** Refuses invalid UTF-8, and a byte order mark with it. */
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** The longest escape. */
const ESCAPE_BYTES = 6;

/** A string that is longer than a run, with its quotes. */
interface LongString {
  readonly from: number;
  readonly to: number;
  readonly value: string;
}

/** A container that is open. */
interface Level {
  /** Offset of its bracket. */
  readonly at: number;
  /** Where this member or element starts (including the name of a member), in the container around it. */
  readonly memberAt: number;
  /** Where the current member or element starts. */
  nextAt: number;
}

/** A container that was entered: the parsed part of it. */
interface Entered {
  readonly level: Level;
  readonly name: string;
  /** An object, or the parts of a list: one that grows would be copied again and again. */
  readonly value: unknown[][] | Record<string, unknown>;
  /** Where the unparsed bytes start. */
  from: number;
  /** A comma precedes these bytes. */
  isOwed: boolean;
  /** Names of an object so far. */
  names: number;
}

/** The value of a text; undefined: it is not JSON, or not in a form that {@link parseInSteps} reads. */
export function* parsedInSteps(text: string): Steps<unknown> {
  if (text.length > RUN_BYTES)
    return /^\s*[[{"]/.test(text.slice(0, GAP_MAX_BYTES)) ? yield* parsedBytes(yield* encoded(text)) : undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The same of a text in UTF-8. */
export function* parsedBytes(bytes: Uint8Array): Steps<unknown> {
  try {
    const most = LIMITS.jsonBodyMemory;
    if (bytes.byteLength > NEVER_HEAVY_BYTES && (yield* weightOfJson(bytes, most)) > most) return undefined;
    return yield* parseInSteps(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Whether other readers may find a value in a text that has none here: some read `NaN`, and forms that {@link parseInSteps}
 * refuses. A transcript may start with a word or a time in brackets.
 */
export function isUnreadJson(text: string): boolean {
  const start = text.slice(0, GAP_MAX_BYTES);
  return UNREAD.test(start) || (start.length < text.length && UNDECIDED.test(start));
}

/** Throws when the bytes are not JSON, or have white space or digits that never end, or an object with too many names or a too long one. */
export function* parseInSteps(bytes: Uint8Array, runBytes = RUN_BYTES): Steps<unknown> {
  if (bytes.byteLength <= runBytes) return JSON.parse(strict.decode(bytes));
  const start = blankEnd(bytes, 0);
  if (bytes[start] === QUOTE) {
    const end = yield* farStringEnd(bytes, start + 1);
    if (end < 0 || blankEnd(bytes, end) < bytes.byteLength) throw new SyntaxError();
    return yield* longString(bytes, start + 1, end - 1, runBytes);
  }
  if (!isOpening(bytes[start])) throw new SyntaxError();
  let level: Level = { at: start, memberAt: start, nextAt: start + 1 };
  let inner = enter(bytes, level, "");
  const [levels, entered] = [[level], [inner]];
  let [at, units] = [start + 1, 0];
  let long: LongString | null = null;
  for (;;) {
    if (units >= STEP_UNITS) {
      yield units;
      units = 0;
    }
    const next = levels[entered.length];
    if (next !== undefined && at - next.at > runBytes) {
      if (next.memberAt > inner.from) take(inner, bytes, next.memberAt - 1, true);
      inner = enter(bytes, next, nameOf(bytes, inner, next));
      entered.push(inner);
      units += VALUE_UNITS;
      continue;
    }
    // its member is a run of its own
    if (long !== null && level.nextAt > inner.from) {
      take(inner, bytes, level.nextAt - 1, true);
      inner.from = level.nextAt;
      inner.isOwed = true;
    }
    const plainAt = at;
    const plainMax = Math.min(bytes.byteLength, plainAt + GAP_MAX_BYTES);
    while (at < plainMax && PLAIN[bytes[at] ?? 0] === 1) at += 1;
    if (at - plainAt === GAP_MAX_BYTES) throw new SyntaxError();
    units += (at - plainAt) / BYTES_PER_UNIT;
    const byte = bytes[at];
    if (byte === undefined) throw new SyntaxError();
    at += 1;
    if (byte === QUOTE) {
      const near = stringEnd(bytes, at, Math.min(at + runBytes, bytes.byteLength));
      const end = near < 0 ? yield* farStringEnd(bytes, at) : near;
      if (end < 0) throw new SyntaxError();
      units += VALUE_UNITS;
      if (near >= 0) units += (end - at) / BYTES_PER_UNIT;
      if (near < 0 || end - at > NAME_MAX_BYTES) {
        const isName = bytes[blankEnd(bytes, end)] === COLON;
        if (isName && end - at > NAME_MAX_BYTES) throw new SyntaxError();
        if (near < 0 && !isName)
          long = { from: at - 1, to: end, value: yield* longString(bytes, at, end - 1, runBytes) };
      }
      at = end;
    } else if (isOpening(byte)) {
      level = { at: at - 1, memberAt: level.nextAt, nextAt: at };
      if (levels.push(level) > DEPTH_MAX) throw new SyntaxError();
      units += VALUE_UNITS;
    } else if (byte === COMMA) {
      level.nextAt = at;
      units += ELEMENT_UNITS;
      if (level === inner.level && at - inner.from > runBytes) {
        take(inner, bytes, at - 1, true, long);
        long = null;
        inner.from = at;
        inner.isOwed = true;
      }
    } else {
      if (byte !== closingOf(bytes[level.at])) throw new SyntaxError();
      levels.pop();
      const outerLevel = levels.at(-1);
      if (level === inner.level) {
        take(inner, bytes, at - 1, inner.isOwed, long);
        long = null;
        entered.pop();
        at = blankEnd(bytes, at);
        const outer = entered.at(-1);
        const whole = Array.isArray(inner.value) ? listOf(inner.value) : inner.value;
        if (outer === undefined) {
          if (at < bytes.byteLength) throw new SyntaxError();
          return whole;
        }
        if (Array.isArray(outer.value)) outer.value.push([whole]);
        else put(outer.value, inner.name, whole);
        outer.isOwed = bytes[at] === COMMA;
        if (outer.isOwed) at += 1;
        else if (!isClosing(bytes[at])) throw new SyntaxError();
        outer.from = at;
        outer.level.nextAt = at;
        inner = outer;
      }
      if (outerLevel !== undefined) level = outerLevel;
    }
  }
}

function enter(bytes: Uint8Array, level: Level, name: string): Entered {
  const value = bytes[level.at] === OPEN_BRACKET ? [] : {};
  return { level, name, value, from: level.at + 1, isOwed: false, names: 0 };
}

/** The name of a member whose value is a container; the text before an element is blank. */
function nameOf(bytes: Uint8Array, { value }: Entered, { memberAt, at }: Level): string {
  // null, because digits would continue a number in front of the bracket
  const [name = ""] = Object.keys(parsedRun(value, `${strict.decode(bytes.subarray(memberAt, at))}null`));
  return name;
}

/** Parses the members or elements up to an offset; at least one if the next must exist. `long`: the only value there. */
function take(into: Entered, bytes: Uint8Array, to: number, isOwed: boolean, long: LongString | null = null): void {
  const { value, from } = into;
  const text = (start: number, end: number): string => strict.decode(bytes.subarray(start, end));
  const run = parsedRun(value, long === null ? text(from, to) : `${text(from, long.from)}""${text(long.to, to)}`);
  if (long !== null) for (const name of Object.keys(run)) put(run as Record<string, unknown>, name, long.value);
  const entries = Array.isArray(run) ? (run as unknown[]) : Object.entries(run as object);
  if (isOwed && entries.length === 0) throw new SyntaxError();
  if (Array.isArray(value)) value.push(entries);
  else {
    into.names += entries.length;
    if (into.names > NAMES_MAX) throw new SyntaxError();
    for (const [name, member] of entries as [string, unknown][]) put(value, name, member);
  }
}

/** The bytes of a text. */
function* encoded(text: string): Steps<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < text.length; ) {
    // never between the halves of a pair
    const end = at + RUN_BYTES - (/[\ud800-\udbff]/.test(text.charAt(at + RUN_BYTES - 1)) ? 1 : 0);
    parts.push(encoder.encode(text.slice(at, end)));
    yield RUN_BYTES / BYTES_PER_UNIT;
    at = end;
  }
  return yield* joinedInSteps(parts);
}

/** The text of a string, which is decoded and parsed part by part. */
function* longString(bytes: Uint8Array, from: number, to: number, runBytes: number): Steps<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const text = new LongText();
  for (let at = from; at < to; ) {
    const end = Math.min(at + Math.max(runBytes, 2 * ESCAPE_BYTES), to);
    let cut = end;
    for (let back = end - 1; end < to && back >= end - ESCAPE_BYTES; back -= 1)
      if (bytes[back] === BACKSLASH && backslashesBefore(bytes, back, at) % 2 === 0) cut = back;
    text.add(JSON.parse(`"${decoder.decode(bytes.subarray(at, cut), { stream: cut < to })}"`) as string);
    yield (cut - at) / BYTES_PER_UNIT;
    at = cut;
  }
  return text.text;
}

function parsedRun(value: Entered["value"], text: string): object {
  return JSON.parse(Array.isArray(value) ? `[${text}]` : `{${text}}`) as object;
}

/** The elements of all parts; they are copied once, in native code. */
function listOf(parts: readonly unknown[][]): unknown[] {
  return ([] as unknown[]).concat(...parts);
}

function put(into: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") into[name] = value;
  else Object.defineProperty(into, name, { value, configurable: true, enumerable: true, writable: true });
}

function isOpening(byte: number | undefined): boolean {
  return byte === OPEN_BRACE || byte === OPEN_BRACKET;
}

function isClosing(byte: number | undefined): boolean {
  return byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
}

function closingOf(byte: number | undefined): number {
  return byte === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
}

/** The first byte that is not white space. Throws when it is far. */
function blankEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  const max = from + GAP_MAX_BYTES;
  while (at < max && (bytes[at] === SPACE || bytes[at] === LF || bytes[at] === CR || bytes[at] === TAB)) at += 1;
  if (at === max) throw new SyntaxError();
  return at;
}

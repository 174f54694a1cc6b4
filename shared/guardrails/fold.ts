/**
 * Folds a text to the form in which keywords and prompt injection are searched: NFKC, without invisible characters, in lower
 * case, with Greek and Cyrillic letters replaced by similar Latin ones (docs/rules/guardrails.md#folding). Every folded unit
 * knows its part of the given text. Linear: at most `MAX_SEGMENT` units are normalised at once.
 */
import { LATIN_OF } from "./look-alikes.ts";
import type { UnitBuffer } from "./unit-buffer.ts";

/** A letter with more marks than this many units is normalised in pieces, as the Stream-Safe Text Format of Unicode does. */
const MAX_SEGMENT = 32;

const [SPACE, TAB] = [32, 9];

/** Marks the place in a folded text where two texts touch. The character is invisible, so no text folds to it. */
export const SEAM = 0x200b;

const IGNORABLE = /[\p{Default_Ignorable_Code_Point}\u180e]/u;
/** Marks, and the letters of Hangul and Kirat Rai that combine with the one before them. */
const EXTENDER = /[\p{M}\u1161-\u1175\u11a8-\u11c2\u3131-\u318e\uff9e-\uffdc\u{16d63}-\u{16d6a}]/u;

/** What a code point is, when it is not folded to a single unit: values that no unit has. */
const IGNORED = -1;
const EXTENDS = -2;
/** NFKC replaces it. */
const REPLACED = -3;
const SURROGATE = -4;

/** Basic Latin in lower case. */
const LOWER_CASE = Uint8Array.from({ length: 128 }, (_, unit) => (unit >= 65 && unit <= 90 ? unit + 32 : unit));

/** What each unit is, in pages of 256 that are made when they are first met. */
const PAGES: (Int32Array | undefined)[] = Array.from({ length: 256 }, () => undefined);

function kindOf(unit: number): number {
  const page = PAGES[unit >> 8] ?? makePage(unit >> 8);
  return page[unit & 255] ?? unit;
}

function makePage(number: number): Int32Array {
  const page = Int32Array.from({ length: 256 }, (_, low) => classify((number << 8) | low));
  PAGES[number] = page;
  return page;
}

function classify(unit: number): number {
  if (unit >= 0xd800 && unit <= 0xdfff) return SURROGATE;
  // unified ideographs and syllables of Hangul: thousands, and each is its own form
  if ((unit >= 0x3400 && unit < 0xa000) || (unit >= 0xac00 && unit < 0xd7a4)) return unit;
  const text = String.fromCharCode(unit);
  if (IGNORABLE.test(text)) return IGNORED;
  if (EXTENDER.test(text)) return EXTENDS;
  return text.normalize("NFKC") === text ? lowerCase(unit, text) : REPLACED;
}

function lowerCase(unit: number, text: string): number {
  const latin = LATIN_OF.get(unit);
  if (latin !== undefined) return latin;
  const lower = text.toLowerCase();
  return lower.length === 1 ? lower.charCodeAt(0) : unit;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Whether the character at an index of a text is one that is not seen, and how many units it has; 0 when it is seen. */
export function ignorableLength(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  if (unit < 0xad) return 0;
  const kind = kindOf(unit);
  if (kind === IGNORED) return 1;
  return kind === SURROGATE && pairKind(text, index) === IGNORED ? 2 : 0;
}

/** The kind of a surrogate pair; the code unit itself for half a pair. */
function pairKind(text: string, index: number): number {
  const [high, low] = [text.charCodeAt(index), text.charCodeAt(index + 1)];
  if (!isHigh(high) || !isLow(low)) return high;
  const pair = String.fromCharCode(high, low);
  if (IGNORABLE.test(pair)) return IGNORED;
  if (EXTENDER.test(pair)) return EXTENDS;
  return pair.normalize("NFKC") === pair ? high : REPLACED;
}

/**
 * Folds a piece of a text from an index on, and appends to `out`. Returns the first index that is not folded yet: without
 * `last` the piece may be followed by marks that change its last letter.
 * @param offset where the piece starts in the given text
 * @param most no character is started when `out` has this many units
 * @param to no character is started from this index on
 */
export function fold(
  piece: string,
  from: number,
  last: boolean,
  offset: number,
  out: UnitBuffer,
  most = Number.POSITIVE_INFINITY,
  to = piece.length,
): number {
  let index = from;
  while (index < piece.length && index < to && out.length < most) {
    index = foldBasicLatin(piece, index, offset, out, most);
    if (index === piece.length || out.length >= most) break;
    const unit = piece.charCodeAt(index);
    const next = piece.charCodeAt(index + 1);
    // a letter of another alphabet before one that does not change it
    if (unit >= 128 && next >= 32 && kindOf(next) >= 0) {
      const kind = kindOf(unit);
      if (kind >= 0) {
        out.push(kind, offset + index, offset + index + 1);
        index += 1;
        continue;
      }
    }
    const after = foldCharacter(piece, index, last, offset, out);
    if (after === index) return index;
    index = after;
  }
  return index;
}

/** Folds the basic Latin characters from an index on that are followed by another one: marks may follow the last. */
function foldBasicLatin(piece: string, from: number, offset: number, out: UnitBuffer, most: number): number {
  const end = Math.min(piece.length - 1, from + most - out.length);
  let index = from;
  let unit = piece.charCodeAt(index);
  if (unit >= 128 || index >= end) return index;
  out.reserve(end - from);
  const { units, starts, ends } = out;
  let length = out.length;
  let place = offset + from;
  while (index < end) {
    const next = piece.charCodeAt(index + 1);
    if (unit >= 128 || next >= 128) break;
    units[length] = LOWER_CASE[unit] ?? unit;
    starts[length] = place;
    place += 1;
    ends[length] = place;
    length += 1;
    index += 1;
    unit = next;
  }
  out.length = length;
  return index;
}

/** White space never changes because of later characters. */
function isSettledAlone(unit: number): boolean {
  return unit === 32 || unit === 10 || unit === 9 || unit === 13;
}

/** Folds one character with its marks; returns the index after it, or the same index if its end is not known yet. */
function foldCharacter(piece: string, index: number, last: boolean, offset: number, out: UnitBuffer): number {
  const unit = piece.charCodeAt(index);
  const more = !last;
  if (more && isHigh(unit) && index + 1 === piece.length) return index;
  const first = kindOf(unit);
  const kind = first === SURROGATE ? pairKind(piece, index) : first;
  const size = first === SURROGATE && isHigh(unit) && isLow(piece.charCodeAt(index + 1)) ? 2 : 1;
  if (kind === IGNORED) return index + size;

  let end = index + size;
  if (!isSettledAlone(unit)) {
    while (end - index < MAX_SEGMENT) {
      if (end >= piece.length) {
        if (more) return index;
        break;
      }
      const length = extenderLength(piece, end);
      if (length === 0) break;
      if (length < 0 && more) return index;
      if (length < 0) break;
      end += length;
    }
  }
  if (end === index + size && kind !== REPLACED && kind !== EXTENDS) {
    if (size === 1) out.push(kind, offset + index, offset + end);
    else pushPair(piece.slice(index, end), offset + index, offset + end, out);
    return end;
  }
  pushFolded(piece.slice(index, end), offset + index, offset + end, out);
  return end;
}

/** The number of units of the mark at an index; 0 if it is not a mark; -1 if that depends on the next unit. */
function extenderLength(piece: string, index: number): number {
  const unit = piece.charCodeAt(index);
  if (unit < 0x300) return 0;
  const kind = kindOf(unit);
  if (kind === EXTENDS) return 1;
  if (kind !== SURROGATE || !isHigh(unit)) return 0;
  if (index + 1 === piece.length) return -1;
  return pairKind(piece, index) === EXTENDS ? 2 : 0;
}

function pushPair(pair: string, start: number, end: number, out: UnitBuffer): void {
  const lower = pair.toLowerCase();
  for (let at = 0; at < lower.length; at++) out.push(lower.charCodeAt(at), start, end);
}

function pushFolded(text: string, start: number, end: number, out: UnitBuffer): void {
  const normal = text.normalize("NFKC");
  for (let at = 0; at < normal.length; at++) {
    const kind = kindOf(normal.charCodeAt(at));
    if (kind === SURROGATE) {
      const pair = normal.slice(at, at + 2);
      if (pair.length === 2 && pairKind(pair, 0) === IGNORED) at += 1;
      else if (isLow(pair.charCodeAt(1)) && isHigh(pair.charCodeAt(0))) {
        pushPair(pair, start, end, out);
        at += 1;
      } else out.push(normal.charCodeAt(at), start, end);
    } else if (kind !== IGNORED) out.push(kind >= 0 ? kind : normal.charCodeAt(at), start, end);
  }
}

/** Replaces runs of spaces and tabs by one space each, from an index of a folded text on. Line breaks stay. */
export function collapseBlanks(folded: UnitBuffer, from: number): void {
  const { units, starts, ends } = folded;
  let length = firstToCollapse(folded, from);
  for (let index = length; index < folded.length; index++) {
    const unit = units[index] ?? 0;
    const isBlank = unit === SPACE || unit === TAB;
    const before = units[length - 1] === SEAM ? length - 2 : length - 1;
    if (isBlank && units[before] === SPACE) {
      ends[before] = ends[index] ?? 0;
      continue;
    }
    units[length] = isBlank ? SPACE : unit;
    starts[length] = starts[index] ?? 0;
    ends[length] = ends[index] ?? 0;
    length += 1;
  }
  folded.length = length;
}

/** The first index, from one index on, of a tab or of a space after another one. */
function firstToCollapse({ units, length }: UnitBuffer, from: number): number {
  let before = units[from - 1] === SEAM ? units[from - 2] : units[from - 1];
  for (let index = from; index < length; index++) {
    const unit = units[index];
    if (unit === TAB || (unit === SPACE && before === SPACE)) return index;
    if (unit !== SEAM) before = unit;
  }
  return length;
}

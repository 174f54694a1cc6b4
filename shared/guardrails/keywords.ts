/**
 * Finds keywords as whole words (docs/rules/guardrails.md#keywords). Each place of the text costs the same, however many
 * keywords there are and however they repeat. Works on a text that arrives in pieces: nothing is decided that later text
 * could change. A part of the text where matches overlap is found once, as a whole.
 */
import { fold, SEAM } from "./fold.ts";
import { type FoundSpans, MAX_GAP } from "./found-spans.ts";
import { hasWithin } from "./joined-texts.ts";
import { KeywordTrie } from "./keyword-trie.ts";
import { UnitBuffer } from "./unit-buffer.ts";

const SPACE = 32;
/** Stands between characters that are too far apart to belong to one match. No keyword has it. */
const BREAK = 0xffff;

const WORD = /[\p{L}\p{Nd}_]/u;
const WHITE_SPACE = /\s/;
/** By unit of basic Latin: 1 for letters, digits and the underscore. */
const BASIC_WORD = Uint8Array.from({ length: 128 }, (_, unit) => Number(WORD.test(String.fromCharCode(unit))));

function isWhiteSpace(unit: number): boolean {
  if (unit > SPACE && unit < 0x1680) return false;
  return unit === SPACE || (unit >= 9 && unit <= 13) || (unit >= 0x1680 && WHITE_SPACE.test(String.fromCharCode(unit)));
}

function isWord(codePoint: number): boolean {
  if (codePoint < 128) return codePoint >= 0 && BASIC_WORD[codePoint] === 1;
  return WORD.test(String.fromCodePoint(codePoint));
}

/** The text of a buffer, with one space for each run of white space, and none at its ends. */
function wordsOf(keyword: string): string {
  const folded = new UnitBuffer(keyword.length);
  fold(keyword, 0, true, 0, folded);
  return String.fromCharCode(...folded.units.subarray(0, folded.length))
    .replaceAll(String.fromCharCode(BREAK), "")
    .trim()
    .replace(/\s+/g, " ");
}

/** A keyword in each case: a few Greek letters look like other letters in upper case than in lower case. */
function spellings(keyword: string): ReadonlySet<string> {
  const lower = keyword.toLowerCase();
  const title = lower.replace(/(?<![\p{L}\p{N}])\p{L}/gu, (letter) => letter.toUpperCase());
  return new Set([keyword, lower, keyword.toUpperCase(), title].map(wordsOf).filter((words) => words !== ""));
}

/** Whether a text can have the keyword: not if it has only characters that are not seen. */
export function canBeFound(keyword: string): boolean {
  return wordsOf(keyword) !== "";
}

/** The automaton of a policy's keywords. A keyword is reported by its index; one without any character is never found. */
export function compileKeywords(keywords: readonly string[]): KeywordTrie {
  return new KeywordTrie(
    keywords.flatMap((keyword, at) => [...spellings(keyword)].map((words) => [words, at] as const)),
  );
}

/** Finds keywords in one text. */
export class KeywordFinder {
  readonly #trie: KeywordTrie;
  readonly #found: FoundSpans;
  /** Where texts touch: a word may start or end there, and only a match over such a place counts. */
  readonly #seams: readonly number[];
  readonly #areBlanks: boolean;
  /** The units read since the start of the longest possible match: white space as one unit, breaks. */
  readonly #read = new UnitBuffer(0);
  /** The last index of `#read` that is not inside a word. A longer suffix starts before a shorter one. */
  #boundary = 0;
  #node = 0;
  /** The longest match that ends at the last unit; it counts when no letter, digit or underscore follows. */
  #candidate: { readonly keyword: number; readonly start: number; readonly end: number } | null = null;
  /** The last code point; -1 at the start. */
  #before = -1;
  /** Where the last character ended that was neither white space nor unseen. */
  #lastEnd = 0;

  /** @param areBlanks whether a blank stands where texts touch, where a keyword has one; otherwise nothing does */
  constructor(trie: KeywordTrie, found: FoundSpans, seams: readonly number[] = [], areBlanks = false) {
    this.#trie = trie;
    this.#found = found;
    this.#seams = seams;
    this.#areBlanks = areBlanks;
  }

  /** Reads folded units from an index on. */
  take(folded: UnitBuffer, from: number): void {
    const { units, length } = folded;
    if (from === length) return;
    for (let index = from; index < length; index++) {
      if (this.#node === 0 && this.#candidate === null) {
        index = this.#nextBegin(folded, index, index === from);
        if (index === length) break;
        this.#begin(folded.startOf(index));
      }
      const [unit, start, end] = [units[index] ?? 0, folded.startOf(index), folded.endOf(index)];
      if (unit === SEAM) {
        this.#settle(SEAM);
        if (this.#areBlanks && this.#trie.next(this.#node, SPACE) !== 0) this.#step(SPACE, start, end);
        continue;
      }
      if (start - this.#lastEnd > MAX_GAP) this.#break();
      if (this.#candidate !== null) this.#settle(folded.codePointAt(index));
      const isBlank = isWhiteSpace(unit);
      if (isBlank && this.#read.at(this.#read.length - 1) === SPACE) continue;
      this.#step(isBlank ? SPACE : unit, start, end);
      if (!isBlank) this.#lastEnd = end;
    }
    let last = length - 1;
    while (last >= from && (units[last] === SEAM || isWhiteSpace(units[last] ?? 0))) last -= 1;
    if (last >= from) this.#lastEnd = folded.endOf(last);
    this.#before = folded.codePointBefore(length);
  }

  /** Tells that the given text was read up to a place, without any more folded units. */
  readUpTo(place: number, isEnd: boolean): void {
    if (isEnd) this.#break();
    else if (place - this.#lastEnd > MAX_GAP) this.#break();
  }

  /** The first undecided place of the given text at which a match could start; `otherwise` if there is none. */
  undecided(otherwise: number): number {
    let place = this.#candidate?.start ?? otherwise;
    for (let node = this.#node; node !== 0; node = this.#trie.suffixOf(node)) {
      const begin = this.#read.length - this.#trie.depthOf(node);
      if (begin > this.#boundary) break;
      if (this.#goesOn(begin)) continue;
      place = Math.min(place, this.#read.startOf(begin));
      break;
    }
    return place;
  }

  /** The memory that is taken, used or not. */
  get bytes(): number {
    return this.#read.bytes;
  }

  /** Starts another text. */
  reset(): void {
    this.#read.length = 0;
    [this.#boundary, this.#node, this.#candidate] = [0, 0, null];
    [this.#before, this.#lastEnd] = [-1, 0];
  }

  /** The first place, from an index on, at which a keyword may start: not inside a word. */
  #nextBegin(folded: UnitBuffer, from: number, isFirst: boolean): number {
    const { units, length } = folded;
    for (let index = from; ; index++) {
      index = this.#trie.nextBegin(units, index, length);
      if (index === length) return length;
      // earlier units may no longer be available
      const isHere = isFirst && index === from;
      if (!isWord(isHere ? this.#before : folded.codePointBefore(index))) return index;
      if (folded.startOf(index) - (isHere ? this.#lastEnd : folded.endOf(index - 1)) > MAX_GAP) return index;
    }
  }

  /** Starts to compare at a place that is not inside a word. */
  #begin(place: number): void {
    this.#read.length = 0;
    this.#read.push(BREAK, place, place);
    this.#lastEnd = place;
  }

  #step(unit: number, start: number, end: number): void {
    const { longest } = this.#trie;
    if (this.#read.length > longest * 2 + 256) {
      const count = this.#read.length - longest - 2;
      this.#read.dropFirst(count);
      this.#boundary -= count;
    }
    this.#read.push(unit, start, end);
    if (!this.#goesOn(this.#read.length - 1)) this.#boundary = this.#read.length - 1;
    this.#node = this.#trie.next(this.#node, unit);
    for (let node = this.#outputAt(this.#node); node !== 0; node = this.#trie.nextOutput(node)) {
      const begin = this.#read.length - this.#trie.depthOf(node);
      if (begin > this.#boundary) return;
      if (this.#goesOn(begin)) continue;
      this.#candidate = { keyword: this.#trie.keywordOf(node), start: this.#read.startOf(begin), end };
      return;
    }
  }

  /** Whether a word continues at an index of the read units. */
  #goesOn(index: number): boolean {
    if (!isWord(this.#read.codePointBefore(index))) return false;
    return !this.#hasSeam(this.#read.endOf(index - 1), this.#read.startOf(index));
  }

  #hasSeam(first: number, last: number): boolean {
    return this.#seams.length > 0 && hasWithin(this.#seams, first, last);
  }

  #outputAt(node: number): number {
    return this.#trie.keywordOf(node) === -1 ? this.#trie.nextOutput(node) : node;
  }

  /** Decides about a match when the character after it is known. */
  #settle(next: number): void {
    const candidate = this.#candidate;
    this.#candidate = null;
    if (candidate === null || isWord(next)) return;
    if (this.#seams.length > 0 && !this.#hasSeam(candidate.start + 1, candidate.end - 1)) return;
    const { starts, ends } = this.#found;
    // earlier ones that overlap it become part of it
    let [start, keyword] = [candidate.start, candidate.keyword];
    while (starts.length > 0 && (ends.at(-1) ?? 0) > start) {
      start = Math.min(start, starts.pop() ?? start);
      keyword = this.#found.labels.pop() ?? keyword;
      ends.pop();
    }
    this.#found.add(keyword, start, candidate.end);
  }

  #break(): void {
    if (this.#candidate !== null) this.#settle(BREAK);
    if (this.#read.at(this.#read.length - 1) !== BREAK) this.#step(BREAK, this.#lastEnd, this.#lastEnd);
  }
}

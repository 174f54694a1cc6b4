/**
 * Finds prompt injection (docs/rules/guardrails.md#prompt-injection). Phrases are found by one automaton, from each place
 * where one can begin; a pattern matches when its phrases follow one another within its gaps. Every phrase is short, and
 * what a pattern remembers lies within its largest gap, so the work is linear in the text.
 */
import { INJECTION_PATTERNS } from "./injection-patterns.ts";
import { DEAD, PhraseAutomaton } from "./phrase-automaton.ts";
import type { UnitBuffer } from "./unit-buffer.ts";

/** Where a phrase takes part: which pattern, as which of its parts. */
interface Use {
  readonly pattern: number;
  readonly part: number;
  readonly gap: number;
  readonly isLast: boolean;
}

/** Parts of patterns up to one phrase that were found. */
interface Found {
  /** Where the first part begins in the given text. */
  readonly place: number;
  /** Behind which unit of the text the last one ends. */
  readonly end: number;
}

/** A phrase that is being read. */
interface Walk {
  readonly state: number;
  /** Which unit of the text it begins with, and where that is in the given text. */
  readonly origin: number;
  readonly place: number;
}

interface Phrases {
  readonly automaton: PhraseAutomaton;
  readonly uses: readonly (readonly Use[])[];
}

/** How many finds a part of a pattern remembers before those are forgotten that no gap reaches any more. */
const MAX_REMEMBERED = 256;
/**
 * How many units stay under way behind which no phrase was looked for: more than the largest gap, in surrogate pairs, and
 * the longest phrase of a pattern of several parts.
 */
const KEPT_UNITS = 256;
const [SPACE, TAB] = [32, 9];
const MAX_PATTERN_GAP = Math.max(...INJECTION_PATTERNS.flatMap(({ gaps }) => gaps));

let compiled: Phrases | undefined;

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** The automaton of all patterns: it is made when it is first needed, and the same for all policies. */
function phrasesOfPatterns(): Phrases {
  if (compiled !== undefined) return compiled;
  const phrases = [...new Set(INJECTION_PATTERNS.flatMap(({ parts }) => parts))];
  const uses = phrases.map((phrase) =>
    INJECTION_PATTERNS.flatMap(({ parts, gaps }, pattern) =>
      parts.flatMap((source, part) =>
        source === phrase ? [{ pattern, part, gap: gaps[part - 1] ?? 0, isLast: part === parts.length - 1 }] : [],
      ),
    ),
  );
  compiled = { automaton: new PhraseAutomaton(phrases), uses };
  return compiled;
}

/**
 * Looks for the patterns in a folded text that arrives in pieces. Calls `found` with the number of a pattern and a part of
 * the given text; it is called again for the same pattern only as long as it answers false.
 */
export class InjectionFinder {
  readonly #report: (pattern: number, start: number, end: number) => boolean;
  readonly #phrases = phrasesOfPatterns();
  readonly #isDone: boolean[] = [];
  /** By pattern and part: what was found up to that part and can still be followed by the next one. */
  readonly #parts: Found[][][] = INJECTION_PATTERNS.map(({ parts }) => parts.map(() => []));
  /** The units under way, with one space for each run of spaces and tabs: the class of each, and its part of the given text. */
  readonly #classes: Uint8Array;
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  #length = 0;
  /** How many units were before those that are under way. */
  #dropped = 0;
  /** The last unit; -1 at the beginning. */
  #lastUnit = -1;
  /** The first index at which no phrase was looked for, and the first that the phrases under way have not read. */
  #next = 0;
  #read = 0;
  /** Phrases that may go on behind the last unit. */
  #walks: Walk[] = [];
  #steps = 0;

  constructor(report: (pattern: number, start: number, end: number) => boolean, unitsAtOnce: number) {
    this.#report = report;
    const capacity = KEPT_UNITS + unitsAtOnce;
    // one more for the class of the end
    this.#classes = new Uint8Array(capacity + 1);
    this.#starts = new Uint32Array(capacity);
    this.#ends = new Uint32Array(capacity);
  }

  /** Reads folded units. */
  take(folded: UnitBuffer): void {
    const { automaton } = this.#phrases;
    const { units } = folded;
    for (let index = 0; index < folded.length; index++) {
      const unit = units[index] ?? 0;
      const isBlank = unit === SPACE || unit === TAB;
      if (isBlank && this.#lastUnit === SPACE) {
        this.#ends[this.#length - 1] = folded.endOf(index);
        continue;
      }
      if (this.#length === this.#starts.length) this.#makeRoom();
      const isLowHalf = isLow(unit) && isHigh(this.#lastUnit);
      this.#lastUnit = isBlank ? SPACE : unit;
      const length = this.#length;
      this.#classes[length] = isLowHalf ? automaton.lowHalfClass : automaton.classOf(this.#lastUnit);
      this.#starts[length] = folded.startOf(index);
      this.#ends[length] = folded.endOf(index);
      this.#length = length + 1;
    }
  }

  /** Tells that the text ends. */
  finish(): void {
    this.#classes[this.#length] = this.#phrases.automaton.endClass;
    this.#search(true);
  }

  /** How many steps the search took. */
  get steps(): number {
    return this.#steps + this.#dropped + this.#length;
  }

  /** The memory that is taken, used or not, but for phrases that were found. */
  get bytes(): number {
    return this.#classes.byteLength + this.#starts.byteLength + this.#ends.byteLength;
  }

  /** Reads what is there, and keeps the end of it. */
  #makeRoom(): void {
    this.#search(false);
    const count = this.#length - KEPT_UNITS;
    this.#classes.copyWithin(0, count, this.#length);
    this.#starts.copyWithin(0, count, this.#length);
    this.#ends.copyWithin(0, count, this.#length);
    this.#length -= count;
    this.#dropped += count;
    this.#next -= count;
    this.#read -= count;
  }

  #search(isEnd: boolean): void {
    const { automaton } = this.#phrases;
    const classes = this.#classes;
    const walks = this.#walks;
    this.#walks = [];
    for (const walk of walks) this.#walk(walk, this.#read, isEnd);
    this.#read = this.#length;
    // where a phrase begins is judged with the unit behind
    const end = isEnd ? this.#length : this.#length - 1;
    let start = this.#next;
    if (start === 0 && this.#dropped === 0 && end > 0) {
      this.#walk({ state: automaton.fromStart, origin: 0, place: this.#starts[0] ?? 0 }, 0, isEnd);
      start = 1;
    }
    while (start < end) {
      start = automaton.nextBegin(classes, start, end);
      if (start === end) break;
      const state = automaton.isWordClass(classes[start - 1] ?? 0) ? automaton.fromWord : automaton.fromOther;
      this.#walk({ state, origin: this.#dropped + start, place: this.#starts[start] ?? 0 }, start, isEnd);
      start += 1;
    }
    this.#next = Math.max(start, this.#next);
  }

  /** Reads a phrase on from an index. */
  #walk({ state: first, origin, place }: Walk, from: number, isEnd: boolean): void {
    const { automaton, uses } = this.#phrases;
    const classes = this.#classes;
    const end = isEnd ? this.#length + 1 : this.#length;
    let state = first;
    for (let index = from; index < end; index++) {
      this.#steps += 1;
      const unitClass = classes[index] ?? 0;
      const next = automaton.next(state, unitClass);
      const ended = automaton.endedBefore(state, unitClass);
      if (ended !== undefined)
        for (const phrase of ended) for (const use of uses[phrase] ?? []) this.#use(use, origin, place, index);
      if (next === DEAD) return;
      state = next;
    }
    if (!isEnd) this.#walks.push({ state, origin, place });
  }

  /** A phrase was found that begins as the unit `start` of the text, and ends before the index `end` of those under way. */
  #use(use: Use, start: number, place: number, end: number): void {
    if (this.#isDone[use.pattern]) return;
    const first = use.part === 0 ? place : this.#placeBefore(use, start);
    if (first === -1) return;
    if (use.isLast) {
      this.#isDone[use.pattern] = this.#report(use.pattern, first, this.#ends[end - 1] ?? 0);
      return;
    }
    const found = this.#parts[use.pattern]?.[use.part] ?? [];
    if (found.length >= MAX_REMEMBERED) forgetBefore(found, start - 2 * MAX_PATTERN_GAP);
    found.push({ place: first, end: this.#dropped + end });
  }

  /** Where a match began that this part, which begins at `start`, continues; -1 when there is none within the gap. */
  #placeBefore({ pattern, part, gap }: Use, start: number): number {
    const before = this.#parts[pattern]?.[part - 1] ?? [];
    // an end at which the gap is too large: ends before it are farther away
    let tooFar = -1;
    for (let index = before.length - 1; index >= 0; index--) {
      this.#steps += 1;
      const { place, end } = before[index] ?? { place: 0, end: -1 };
      if (end > start || end <= tooFar) continue;
      if (this.#isWithin(end, start, gap)) return place;
      tooFar = end;
    }
    return -1;
  }

  /** Whether at most `gap` code points are between two units of the text. A code point has one unit or two. */
  #isWithin(from: number, to: number, gap: number): boolean {
    if (to - from <= gap) return true;
    return to - from <= 2 * gap && this.#codePointsBetween(from - this.#dropped, to - this.#dropped) <= gap;
  }

  #codePointsBetween(from: number, to: number): number {
    const { lowHalfClass } = this.#phrases.automaton;
    let count = to - from;
    // half a pair that is cut off by the first place counts as a code point
    for (let index = from + 1; index < to; index++) if (this.#classes[index] === lowHalfClass) count -= 1;
    return count;
  }
}

function forgetBefore(found: Found[], end: number): void {
  const kept = found.filter((one) => one.end >= end);
  found.length = 0;
  for (const one of kept) found.push(one);
}

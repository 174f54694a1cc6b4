/**
 * Finds prompt injection (docs/rules/guardrails.md#prompt-injection). Phrases are found by one automaton, from each place where
 * one can start; a pattern matches when its phrases follow one another within its gaps. Every phrase is short, and a pattern
 * remembers only matches within its largest gap, so the work is linear in the text.
 */
import { SEAM } from "./fold.ts";
import { INJECTION_PATTERNS, UNLESS_MAX } from "./injection-patterns.ts";
import { DEAD, PhraseAutomaton } from "./phrase-automaton.ts";
import { UnitBuffer } from "./unit-buffer.ts";

/** Where a phrase takes part: which pattern, as which of its parts. */
interface Use {
  readonly pattern: number;
  readonly part: number;
  readonly gap: number;
  readonly isLast: boolean;
}

/** Parts of patterns up to one phrase that were found. */
interface Found {
  /** Where the first part starts in the given text. */
  readonly place: number;
  /** The unit of the text after which the last one ends. */
  readonly end: number;
}

/** A match, and the unit of the text after which it ends. */
interface Match {
  readonly pattern: number;
  readonly place: number;
  readonly end: number;
}

/** A phrase that is being read. */
interface Walk {
  readonly state: number;
  /** The unit of the text that it starts with, and its place in the given text. */
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
 * How many of the last units that were read are read again: more than the largest gap, in surrogate pairs of which each is a
 * text, and the longest phrase of a pattern of several parts.
 */
export const KEPT_UNITS = 256;
/** Units that a code point takes at most: a pair, and the touch of two texts. */
const CODE_POINT_UNITS = 3;
const MAX_PATTERN_GAP = Math.max(...INJECTION_PATTERNS.flatMap(({ gaps }) => gaps));

let compiled: Phrases | undefined;

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
  /** By pattern and part: the matches up to that part that can still continue with the next one. */
  readonly #parts = new Map<string, Found[]>();
  /** The text under way, and how many of its units were forgotten. */
  #folded = new UnitBuffer(0);
  #forgotten = 0;
  /** The first index at which no phrase was looked for, and the first that the phrases under way have not read. */
  #next = 0;
  #read = 0;
  /** Phrases that may continue after the last unit. */
  #walks: Walk[] = [];
  /** Matches that the text after the last unit can make harmless. */
  #pending: Match[] = [];
  #isEnd = false;
  #steps = 0;

  constructor(report: (pattern: number, start: number, end: number) => boolean) {
    this.#report = report;
  }

  /**
   * Reads the units of a folded text without runs of blanks (`collapseBlanks`) that were added since the last time. The
   * first units may be forgotten, but for the last {@link KEPT_UNITS}.
   */
  read(folded: UnitBuffer, isEnd: boolean): void {
    [this.#folded, this.#isEnd] = [folded, isEnd];
    const { automaton } = this.#phrases;
    const { units, length } = folded;
    const pending = this.#pending;
    this.#pending = [];
    for (const match of pending) this.#check(match);
    const walks = this.#walks;
    this.#walks = [];
    for (const { state, origin, place } of walks) this.#walk(state, origin, place, this.#read, isEnd);
    this.#read = length;

    // a place is checked as the start of a phrase once two more units are known; at the end of the text it is tried
    const checkedEnd = Math.max(0, length - 2);
    const end = isEnd ? length : checkedEnd;
    let start = this.#next;
    if (start === 0 && this.#forgotten === 0 && end > 0) {
      this.#walk(automaton.fromStart, 0, folded.startOf(0), 0, isEnd);
      start = 1;
    }
    while (start < end) {
      if (start < checkedEnd) start = automaton.nextBegin(units, start, checkedEnd);
      if (start === end) break;
      const isBehindWord = automaton.isWordClass(automaton.classOf(units[start - 1] ?? 0));
      const state = isBehindWord ? automaton.fromWord : automaton.fromOther;
      this.#walk(state, this.#forgotten + start, folded.startOf(start), start, isEnd);
      start += 1;
    }
    this.#next = start;
  }

  /** Tells that the first units were forgotten. */
  forget(count: number): void {
    this.#forgotten += count;
    this.#next -= count;
    this.#read -= count;
  }

  /** How many steps the search took. */
  get steps(): number {
    return this.#steps + this.#forgotten + this.#read;
  }

  /** Reads a phrase on from an index. */
  #walk(first: number, origin: number, place: number, from: number, isEnd: boolean): void {
    const { automaton, uses } = this.#phrases;
    const { units, length } = this.#folded;
    const end = isEnd ? length + 1 : length;
    let state = first;
    for (let index = from; index < end; index++) {
      this.#steps += 1;
      const unitClass = index < length ? automaton.classOf(units[index] ?? 0) : automaton.endClass;
      const next = automaton.next(state, unitClass);
      const ended = automaton.endedBefore(state, unitClass);
      if (ended !== undefined)
        for (const phrase of ended) for (const use of uses[phrase] ?? []) this.#use(use, origin, place, index);
      if (next === DEAD) return;
      state = next;
    }
    if (!isEnd) this.#walks.push({ state, origin, place });
  }

  /** A phrase was found that starts at the unit `start` of the text, and ends before the index `end` of those under way. */
  #use(use: Use, start: number, place: number, end: number): void {
    if (this.#isDone[use.pattern]) return;
    const first = use.part === 0 ? place : this.#placeBefore(use, start);
    if (first === -1) return;
    if (use.isLast) {
      this.#check({ pattern: use.pattern, place: first, end: this.#forgotten + end });
      return;
    }
    const key = `${use.pattern} ${use.part}`;
    const found = this.#parts.get(key) ?? [];
    this.#parts.set(key, found);
    if (found.length >= MAX_REMEMBERED) forgetBefore(found, start - CODE_POINT_UNITS * MAX_PATTERN_GAP);
    found.push({ place: first, end: this.#forgotten + end });
  }

  /** Reports a match, unless the words after it make it harmless. */
  #check(match: Match): void {
    const { pattern, place } = match;
    if (this.#isDone[pattern]) return;
    const end = match.end - this.#forgotten;
    const words = INJECTION_PATTERNS[pattern]?.unless ?? [];
    if (words.length > 0 && !this.#isEnd && end + UNLESS_MAX > this.#folded.length) this.#pending.push(match);
    else if (!words.some((word) => this.#isFollowedBy(end, word)))
      this.#isDone[pattern] = this.#report(pattern, place, this.#folded.endOf(end - 1));
  }

  #isFollowedBy(end: number, word: string): boolean {
    const { automaton } = this.#phrases;
    const isThere = Array.from(` ${word}`).every(
      (character, at) => this.#folded.at(end + at) === character.charCodeAt(0),
    );
    const behind = this.#folded.at(end + 1 + word.length);
    return isThere && (behind === -1 || !automaton.isWordClass(automaton.classOf(behind)));
  }

  /** Where the match started that this part, which starts at `start`, continues; -1 if there is none within the gap. */
  #placeBefore({ pattern, part, gap }: Use, start: number): number {
    const before = this.#parts.get(`${pattern} ${part - 1}`) ?? [];
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

  /** Whether at most `gap` code points are between two units of the text. */
  #isWithin(from: number, to: number, gap: number): boolean {
    if (to - from <= gap) return true;
    const [start, end] = [from - this.#forgotten, to - this.#forgotten];
    return to - from <= CODE_POINT_UNITS * gap && this.#codePointsBetween(start, end) <= gap;
  }

  #codePointsBetween(from: number, to: number): number {
    let count = to - from;
    for (let index = from; index < to; index++) {
      const [high, low] = [index === from ? 0 : this.#folded.at(index - 1), this.#folded.at(index)];
      if (low === SEAM || (low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff)) count -= 1;
    }
    return count;
  }
}

function forgetBefore(found: Found[], end: number): void {
  const kept = found.filter((one) => one.end >= end);
  found.length = 0;
  for (const one of kept) found.push(one);
}

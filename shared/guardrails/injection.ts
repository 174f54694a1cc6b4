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

/** Parts of patterns up to one phrase that were found: where that phrase begins and ends, where the first one began. */
interface Found {
  readonly origin: number;
  readonly end: number;
}

interface Phrases {
  readonly automaton: PhraseAutomaton;
  readonly uses: readonly (readonly Use[])[];
}

/** How many finds a part of a pattern remembers before those are forgotten that no gap reaches any more. */
const MAX_REMEMBERED = 256;
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

/** Replaces runs of spaces and tabs of a folded text by one space each. Line breaks stay. */
export function collapseSpaces(folded: UnitBuffer): void {
  const { units, starts, ends } = folded;
  let length = 0;
  for (let index = 0; index < folded.length; index++) {
    const unit = units[index] ?? 0;
    const isBlank = unit === 32 || unit === 9;
    if (isBlank && length > 0 && units[length - 1] === 32) {
      ends[length - 1] = folded.endOf(index);
      continue;
    }
    units[length] = isBlank ? 32 : unit;
    starts[length] = folded.startOf(index);
    ends[length] = folded.endOf(index);
    length += 1;
  }
  folded.length = length;
}

/**
 * Looks for the patterns in a folded text. Calls `found` with the number of a pattern and a part of the given text; it is
 * called again for the same pattern only as long as it answers false. Answers how many steps the search took.
 */
export function findInjections(
  folded: UnitBuffer,
  found: (pattern: number, start: number, end: number) => boolean,
): number {
  return new InjectionSearch(folded, found).run();
}

class InjectionSearch {
  readonly #folded: UnitBuffer;
  readonly #report: (pattern: number, start: number, end: number) => boolean;
  readonly #phrases = phrasesOfPatterns();
  readonly #isDone: boolean[] = [];
  /** By pattern and part: what was found up to that part and can still be followed by the next one. */
  readonly #parts: Found[][][] = INJECTION_PATTERNS.map(({ parts }) => parts.map(() => []));
  #steps = 0;

  constructor(folded: UnitBuffer, report: (pattern: number, start: number, end: number) => boolean) {
    this.#folded = folded;
    this.#report = report;
  }

  run(): number {
    const { automaton } = this.#phrases;
    const { length } = this.#folded;
    const classes = new Uint8Array(length + 1);
    for (let index = 0; index < length; index++) classes[index] = automaton.classOf(this.#folded.at(index));
    classes[length] = automaton.endClass;

    let state = automaton.fromStart;
    for (let start = 0; start < length; start++) {
      this.#walk(classes, start, state);
      state = automaton.isWordClass(classes[start] ?? 0) ? automaton.fromWord : automaton.fromOther;
    }
    return this.#steps;
  }

  #walk(classes: Uint8Array, start: number, first: number): void {
    const { automaton, uses } = this.#phrases;
    let state = first;
    for (let index = start; index < classes.length; index++) {
      this.#steps += 1;
      const unitClass = classes[index] ?? 0;
      const next = automaton.next(state, unitClass);
      const ended = automaton.endedBefore(state, unitClass);
      if (ended !== undefined)
        for (const phrase of ended) for (const use of uses[phrase] ?? []) this.#use(use, start, index);
      if (next === DEAD) return;
      state = next;
    }
  }

  #use(use: Use, start: number, end: number): void {
    if (this.#isDone[use.pattern]) return;
    const origin = use.part === 0 ? start : this.#originBefore(use, start);
    if (origin === -1) return;
    if (use.isLast) {
      this.#isDone[use.pattern] = this.#report(use.pattern, this.#folded.startOf(origin), this.#folded.endOf(end - 1));
      return;
    }
    const found = this.#parts[use.pattern]?.[use.part] ?? [];
    if (found.length >= MAX_REMEMBERED) forgetBefore(found, start - 2 * MAX_PATTERN_GAP);
    found.push({ origin, end });
  }

  /** Where a match began that this part, which begins at `start`, continues; -1 when there is none within the gap. */
  #originBefore({ pattern, part, gap }: Use, start: number): number {
    const before = this.#parts[pattern]?.[part - 1] ?? [];
    // an end at which the gap is too large: ends before it are farther away
    let tooFar = -1;
    for (let index = before.length - 1; index >= 0; index--) {
      this.#steps += 1;
      const { origin, end } = before[index] ?? { origin: 0, end: -1 };
      if (end > start || end <= tooFar) continue;
      if (this.#isWithin(end, start, gap)) return origin;
      tooFar = end;
    }
    return -1;
  }

  /** Whether at most `gap` code points are between two places. A code point has one unit or two. */
  #isWithin(from: number, to: number, gap: number): boolean {
    if (to - from <= gap) return true;
    return to - from <= 2 * gap && this.#codePointsBetween(from, to) <= gap;
  }

  #codePointsBetween(from: number, to: number): number {
    let count = to - from;
    for (let index = from + 1; index < to; index++) {
      const [high, low] = [this.#folded.at(index - 1), this.#folded.at(index)];
      if (low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff) count -= 1;
    }
    return count;
  }
}

function forgetBefore(found: Found[], end: number): void {
  const kept = found.filter((one) => one.end >= end);
  found.length = 0;
  for (const one of kept) found.push(one);
}

/**
 * Prose as sentences, and which of them are kept (docs/rules/compression.md#prose). Scores come from the compression sidecar or
 * from the rule of thumb here. Linear in the text, except for the sort of its sentences.
 */

import type { Steps } from "../../../shared/steps.ts";
import { countCodePoints } from "../wire/text/code-points.ts";

/** The mark in place of a dropped stretch. */
export const OMITTED = " [… omitted]";
/** A shorter text is kept whole. */
export const SENTENCES_MIN = 4;
/** Sentences of more than this many are not scored: no prose has so many. */
export const SENTENCES_MAX = 5000;

/** Of a longer sentence, or question, no more words are read: the first, or the last. */
const WORDS_CHARS_MAX = 16 * 1024;
/** Work for a sentence, in units. */
const SENTENCE_UNITS = 32;
const WORD = /\p{L}{4,}/gu;
const SCORED_CHARS_MAX = 200;
const HIT_SCORE = 2;
const ENDS = new Set([".", "!", "?", "…"]);
/** These end a sentence without a space after them. */
const WIDE_ENDS = new Set(["。", "！", "？"]);
/** White space, and what ends a sentence. */
const NOT_INNER = /[ \n\t\r\u00a0.!?…。！？]/g;
/** Starts a list item or a heading. */
const ITEM = /^(?:[-*•]|\d{1,3}[.)]|#{1,6})[ \t]/;
const ABBREVIATIONS = new Set([
  "mr",
  "mrs",
  "ms",
  "dr",
  "prof",
  "vs",
  "etc",
  "approx",
  "no",
  "fig",
  "inc",
  "ltd",
  "cf",
]);
const CLOSERS = new Set(['"', "'", ")", "]", "”", "’", "»"]);

/** The words of the question with at least four letters, in lower case. */
export function queryTerms(question: string): ReadonlySet<string> {
  return new Set(wordsOf(question.slice(-WORDS_CHARS_MAX)));
}

/** The text cut into sentences; each has the whitespace that follows it. Joined they are the text. */
export function* sentencesOf(text: string): Steps<readonly string[]> {
  const sentences: string[] = [];
  let start = 0;
  for (const end of sentenceEnds(text)) {
    yield SENTENCE_UNITS;
    if (end === null) continue;
    // whitespace in front of the first sentence belongs to it
    if (text.slice(start, end).trim() === "") continue;
    sentences.push(text.slice(start, end));
    start = end;
  }
  if (start < text.length) sentences.push(text.slice(start));
  return sentences;
}

/**
 * Where sentences end, including the whitespace after them, and null where a candidate does not end one; every character is
 * examined a fixed number of times.
 */
function* sentenceEnds(text: string): Generator<number | null> {
  let at = 0;
  while (at < text.length) {
    const character = text[at] ?? "";
    if (isSpace(character)) {
      const end = runEnd(text, at, isSpace);
      yield isParagraphEnd(text, at, end) ? end : null;
      at = end;
    } else if (ENDS.has(character) || WIDE_ENDS.has(character)) {
      const end = runEnd(text, at, (next) => ENDS.has(next) || WIDE_ENDS.has(next) || CLOSERS.has(next));
      const next = runEnd(text, end, isSpace);
      const isEnd = WIDE_ENDS.has(character) || next > end || end === text.length;
      yield isEnd && !(character === "." && isAbbreviation(text, at)) ? next : null;
      at = Math.max(end, isEnd ? next : end);
    } else {
      NOT_INNER.lastIndex = at + 1;
      at = NOT_INNER.exec(text)?.index ?? text.length;
    }
  }
}

function isSpace(character: string): boolean {
  return character === " " || character === "\n" || character === "\t" || character === "\r" || character === "\u00a0";
}

function runEnd(text: string, start: number, belongs: (character: string) => boolean): number {
  let end = start;
  while (end < text.length && belongs(text[end] ?? "")) end += 1;
  return end;
}

/** Whether this whitespace has a blank line, or a list item or heading starts after it. */
function isParagraphEnd(text: string, start: number, end: number): boolean {
  const [, feeds, ...more] = text.slice(start, end).split("\n", 3);
  if (feeds === undefined) return false;
  return more.length > 0 || ITEM.test(text.slice(end, end + 8));
}

/** Whether the dot belongs to `e.g.`, to an initial, to the number of a list item or to a common abbreviation. */
function isAbbreviation(text: string, dot: number): boolean {
  const word = /(?:^|[\s("[.])([\p{L}]{1,6}|\d{1,3})$/u.exec(text.slice(Math.max(dot - 8, 0), dot))?.[1] ?? "";
  if (/^\d/.test(word))
    return /(?:^|\n)[ \t]{0,4}$/.test(text.slice(Math.max(dot - word.length - 5, 0), dot - word.length));
  return (word.length === 1 && word !== "I") || ABBREVIATIONS.has(word.toLowerCase());
}

/** Scores by length and by the words of the question, when there is no sidecar. */
export function* heuristicScores(sentences: readonly string[], terms: ReadonlySet<string>): Steps<readonly number[]> {
  const scores: number[] = [];
  for (const sentence of sentences) {
    yield unitsOf(sentence);
    const hits = wordsOf(sentence).filter((word) => terms.has(word)).length;
    const length = Math.min(countCodePoints(sentence.trim()), SCORED_CHARS_MAX);
    scores.push(length / SCORED_CHARS_MAX + HIT_SCORE * hits);
  }
  return scores;
}

/**
 * The text of the best `keepRatio` of its sentences, rounded up, and of those that contain a word of the question, in
 * their order; null: all are kept. `scores` has a finite number for each sentence.
 */
export function* keepBest(
  sentences: readonly string[],
  scores: readonly number[],
  { keepRatio, terms }: { readonly keepRatio: number; readonly terms: ReadonlySet<string> },
): Steps<string | null> {
  const count = Math.min(Math.max(Math.ceil(sentences.length * keepRatio), 1), sentences.length);
  const ranked = sentences
    .map((_, at) => at)
    .sort((one, other) => (scores[other] ?? 0) - (scores[one] ?? 0) || one - other);
  const best = new Set(ranked.slice(0, count));
  const kept: boolean[] = [];
  for (const [at, sentence] of sentences.entries()) {
    yield unitsOf(sentence);
    kept.push(best.has(at) || wordsOf(sentence).some((word) => terms.has(word)));
  }
  if (!kept.includes(false)) return null;
  const pieces: string[] = [];
  let gap: string | null = null;
  for (const [at, sentence] of sentences.entries()) {
    if (kept[at] !== true) {
      if (gap === null) pieces.push((pieces.pop() ?? "").trimEnd(), OMITTED);
      gap = sentence;
      continue;
    }
    if (gap !== null) pieces.push(spaceAtEnd(gap));
    gap = null;
    pieces.push(sentence);
  }
  return pieces.join("") + (gap === null ? "" : spaceAtEnd(gap));
}

function spaceAtEnd(sentence: string): string {
  return sentence.slice(sentence.trimEnd().length);
}

function wordsOf(text: string): readonly string[] {
  return text.slice(0, WORDS_CHARS_MAX).toLowerCase().match(WORD) ?? [];
}

function unitsOf(sentence: string): number {
  return SENTENCE_UNITS + Math.min(sentence.length, WORDS_CHARS_MAX);
}

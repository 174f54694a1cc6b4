/**
 * The JSON values in a model's text. Models put a value into a code fence, say something before and after it, and try others
 * before; so each complete value may be the answer (docs/rules/boons.md#structured-output). Linear in the text, however it is
 * nested or broken.
 */

import type { Steps } from "../../../shared/steps.ts";
import { parsedInSteps } from "../wire/json/parse-in-steps.ts";

/** Deepest nesting of a value that is taken: everything that reads it later recurses. */
export const VALUE_MAX_DEPTH = 200;

/** Characters that may be looked at in all, as a multiple of the text's length. */
const MAX_PASSES = 8;

/** Most brackets at which a value may start. Sentences have few; a text of brackets alone would cost seconds. */
const OPENINGS_MAX = 10_000;

/** Most values that are taken of one text: the first, and the last of the others. */
const VALUES_MAX = 4;

const FENCE = "```";
const OPENING = /[{[]/g;
/** Work for a token, and for the start of a value, in units. */
const TOKEN_UNITS = 2;
const VALUE_UNITS = 64;
/** Tokens that are read without a step. */
const TOKENS = 512;

/** A value, and its text without the white space around its tokens. */
interface JsonText {
  readonly value: unknown;
  readonly text: string;
}

/** The values found in a text. */
interface Extracted {
  /** Complete values, the last one first. */
  readonly values: readonly JsonText[];
  /** The fault if there are none: one sentence for the model that repairs the text. */
  readonly problem: string;
}

const PROBLEMS = {
  none: "The text contains no JSON value.",
  "cut-off": "The JSON value is cut off before its end.",
  broken: "The JSON value is not valid JSON.",
  deep: `The JSON value is nested deeper than ${VALUE_MAX_DEPTH} levels.`,
};

/**
 * The whole text (without a code fence) when that is a string, number, boolean or null, else the objects and lists in `text`
 * that are valid JSON. A value that is broken or cut off, or a string, is not searched for values within it: a part of an
 * answer must never pass for the answer. After a broken value, only a code fence shows where something else starts.
 */
export function* extractJson(text: string): Steps<Extracted> {
  const scalar = yield* wholeScalar(unfenced(text));
  if (scalar !== null) return { values: [scalar], problem: PROBLEMS.none };
  const found: string[] = [];
  let problem = PROBLEMS.none;
  let [looked, openings] = [0, 0];
  for (let at = nextOpening(text, 0); at < text.length; ) {
    yield VALUE_UNITS;
    openings += 1;
    if (openings > OPENINGS_MAX) return { values: [], problem: PROBLEMS.none };
    const { result, end } = yield* scanValue(text, at);
    looked += end - at;
    let next = result === "prose" ? at + 1 : end;
    if (result === "whole") {
      found.push(text.slice(at, end));
      if (found.length > VALUES_MAX) found.splice(1, 1);
    } else if (result !== "prose" || looked > MAX_PASSES * text.length) {
      problem = result === "prose" ? PROBLEMS.broken : PROBLEMS[result];
      const fence = result === "broken" ? text.indexOf(FENCE, end) : -1;
      if (fence === -1) break;
      next = fence + FENCE.length;
    }
    at = nextOpening(text, next);
  }
  if (found.length > 0) problem = PROBLEMS.broken;
  const values: JsonText[] = [];
  for (const one of found.reverse()) values.push(...(yield* parsed(one)));
  return { values, problem };
}

/**
 * The text after the reasoning that some servers leave in front of the answer; "" if the reasoning has no end. Its opening tag
 * may be in the prompt. A closing tag at the end of a line differs from one in a string of the answer, because strings have no
 * line ends.
 */
export function withoutReasoning(text: string): string {
  const opened = /^\s*<think(?:ing)?>/.test(text);
  const end = (opened ? /<\/think(?:ing)?>/ : /<\/think(?:ing)?>[ \t]*\r?\n/).exec(text);
  if (end === null) return opened ? "" : text;
  return text.slice(end.index + end[0].length);
}

/** JSON text without the white space around its tokens; numbers and strings stay as they were written. */
export function* compactText(text: string): Steps<string> {
  const pieces: string[] = [];
  let [from, tokens] = [0, 0];
  for (let at = 0; at < text.length; ) {
    tokens += 1;
    if (tokens % TOKENS === 0) yield TOKENS * TOKEN_UNITS;
    if (text[at] === '"') {
      at = stringEnd(text, at) ?? text.length;
      continue;
    }
    const end = spaceEnd(text, at);
    if (end === at) {
      at += 1;
      continue;
    }
    pieces.push(text.slice(from, at));
    from = end;
    at = end;
  }
  return pieces.join("") + text.slice(from);
}

function* parsed(text: string): Steps<readonly JsonText[]> {
  const value = yield* parsedInSteps(text);
  return value === undefined ? [] : [{ value, text: yield* compactText(text) }];
}

/** A string, number, boolean or null that is all there is. */
function* wholeScalar(text: string): Steps<JsonText | null> {
  const trimmed = text.trim();
  const [scalar = null] = scalarEnd(trimmed, 0) === trimmed.length ? yield* parsed(trimmed) : [];
  return scalar;
}

/** The content of a text that is one code fence; every other text without the space around it. */
function unfenced(text: string): string {
  const trimmed = text.trim();
  const lineEnd = trimmed.indexOf("\n");
  const fenced = lineEnd > 0 && trimmed.startsWith(FENCE) && trimmed.endsWith(FENCE);
  return fenced ? trimmed.slice(lineEnd + 1, -3) : trimmed;
}

function nextOpening(text: string, from: number): number {
  OPENING.lastIndex = from;
  return OPENING.exec(text)?.index ?? text.length;
}

interface Scan {
  /**
   * `broken`: it fails after a string was read, so it was meant as JSON; `prose`: it fails before, as a bracket in a sentence
   * does.
   */
  readonly result: "whole" | "broken" | "prose" | "cut-off" | "deep";
  /** After the value, or where it fails. */
  readonly end: number;
}

/** The allowed next tokens. `item`: a value or the end of a list; `name`: a member's name or the end of an object. */
type Expected = "value" | "item" | "name" | "next-name" | "colon" | "next";

/** Reads the object or list that starts at `start` by the grammar of JSON, except for escapes in strings. */
function* scanValue(text: string, start: number): Steps<Scan> {
  const closers: string[] = [];
  let expected: Expected = "value";
  let [strings, tokens] = [0, 0];
  for (let at = start; ; ) {
    tokens += 1;
    if (tokens % TOKENS === 0) yield TOKENS * TOKEN_UNITS;
    at = spaceEnd(text, at);
    const char = text[at];
    if (char === undefined) return { result: "cut-off", end: at };
    let end: number | null = null;
    const closes = char === closers.at(-1) && (expected === "next" || expected === "item" || expected === "name");
    if (closes) {
      closers.pop();
      end = at + 1;
      expected = "next";
    } else if (expected === "colon") {
      end = char === ":" ? at + 1 : null;
      expected = "value";
    } else if (expected === "next") {
      end = char === "," ? at + 1 : null;
      expected = closers.at(-1) === "}" ? "next-name" : "value";
    } else if (expected === "name" || expected === "next-name") {
      end = char === '"' ? stringEnd(text, at) : null;
      if (char === '"' && end === null) return { result: "cut-off", end: text.length };
      if (end !== null) strings += 1;
      expected = "colon";
    } else if (char === "{" || char === "[") {
      if (closers.length >= VALUE_MAX_DEPTH) return { result: "deep", end: at };
      closers.push(char === "{" ? "}" : "]");
      end = at + 1;
      expected = char === "{" ? "name" : "item";
    } else {
      end = scalarEnd(text, at);
      if (char === '"' && end === null) return { result: "cut-off", end: text.length };
      if (char === '"') strings += 1;
      expected = "next";
    }
    if (end === null) return { result: strings > 0 ? "broken" : "prose", end: at };
    if (closers.length === 0) return { result: "whole", end };
    at = end;
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** The offset after the string, number, boolean or null at `at`; null if there is none, or it is a string without an end. */
function scalarEnd(text: string, at: number): number | null {
  if (text[at] === '"') return stringEnd(text, at);
  for (const word of ["true", "false", "null"]) if (text.startsWith(word, at)) return at + word.length;
  NUMBER.lastIndex = at;
  return NUMBER.test(text) ? NUMBER.lastIndex : null;
}

/** The offset after the closing quote of the string that starts at `at`; null if it has none. */
function stringEnd(text: string, at: number): number | null {
  for (let quote = text.indexOf('"', at + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let escapes = 0;
    while (quote - escapes - 1 > at && text[quote - escapes - 1] === "\\") escapes += 1;
    if (escapes % 2 === 0) return quote + 1;
  }
  return null;
}

function spaceEnd(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\t" || text[at] === "\r") at += 1;
  return at;
}

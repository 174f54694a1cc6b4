/**
 * The JSON value in a model's text. Models put a value into a code fence, or say something before and after it; the first
 * balanced value counts (docs/rules/boons.md#structured-output). Linear in the text, however it is nested or broken.
 */

/** Deepest nesting of a value that is taken: everything that reads it later recurses. */
export const VALUE_MAX_DEPTH = 200;

/** Characters that may be looked at in all, as a multiple of the text's length. */
const MAX_PASSES = 8;

/** What was found in a text. */
type Extracted =
  /** `text` is the value as it was written, without the white space around its tokens. */
  | { readonly kind: "value"; readonly value: unknown; readonly text: string }
  /** `problem`: what is wrong, one sentence for the model that repairs the text. */
  | { readonly kind: "none"; readonly problem: string };

const NO_VALUE: Extracted = { kind: "none", problem: "The text contains no JSON value." };
const CUT_OFF: Extracted = { kind: "none", problem: "The JSON value is cut off before its end." };
const BROKEN: Extracted = { kind: "none", problem: "The JSON value is not valid JSON." };
const DEEP: Extracted = { kind: "none", problem: `The JSON value is nested deeper than ${VALUE_MAX_DEPTH} levels.` };

/**
 * The whole text (without a code fence) when that is a string, number, boolean or null, else the first object or list in
 * `text` that is valid JSON. A value that is broken or cut off, or a string, is not searched for values within it: a part
 * of an answer must never pass for the answer.
 */
export function extractJson(text: string): Extracted {
  const scalar = wholeScalar(unfenced(text));
  if (scalar !== null) return scalar;
  let looked = 0;
  for (let at = nextOpening(text, 0); at < text.length; at = nextOpening(text, at + 1)) {
    const scan = scanValue(text, at);
    looked += scan.end - at;
    if (scan.result === "whole") return parsed(text.slice(at, scan.end)) ?? BROKEN;
    if (scan.result === "deep") return DEEP;
    if (scan.result === "cut-off") return CUT_OFF;
    if (scan.result === "broken" || looked > MAX_PASSES * text.length) return BROKEN;
  }
  return NO_VALUE;
}

/** JSON text without the white space around its tokens; numbers and strings stay as they were written. */
export function compactText(text: string): string {
  const pieces: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; ) {
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

function parsed(text: string): Extracted | null {
  try {
    const value: unknown = JSON.parse(text);
    return { kind: "value", value, text: compactText(text) };
  } catch {
    return null;
  }
}

/** A string, number, boolean or null that is all there is. */
function wholeScalar(text: string): Extracted | null {
  const trimmed = text.trim();
  return scalarEnd(trimmed, 0) === trimmed.length ? parsed(trimmed) : null;
}

/** The content of a text that is one code fence; every other text without the space around it. */
function unfenced(text: string): string {
  const trimmed = text.trim();
  const lineEnd = trimmed.indexOf("\n");
  const fenced = lineEnd > 0 && trimmed.startsWith("```") && trimmed.endsWith("```");
  return fenced ? trimmed.slice(lineEnd + 1, -3) : trimmed;
}

function nextOpening(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) if (text[at] === "{" || text[at] === "[") return at;
  return text.length;
}

interface Scan {
  /**
   * `broken`: it fails after a string was read, so it was meant as JSON; `prose`: it fails before, as a bracket in a sentence
   * does.
   */
  readonly result: "whole" | "broken" | "prose" | "cut-off" | "deep";
  /** Behind the value, or where it fails. */
  readonly end: number;
}

/** What may come next. `item`: a value or the end of a list; `name`: a member's name or the end of an object. */
type Expected = "value" | "item" | "name" | "next-name" | "colon" | "next";

/** Reads the object or list that begins at `start` by the grammar of JSON, escapes in strings excepted. */
function scanValue(text: string, start: number): Scan {
  const closers: string[] = [];
  let expected: Expected = "value";
  let strings = 0;
  for (let at = start; ; ) {
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

/** Behind the string, number, boolean or null at `at`; null: there is none, or it is a string without an end. */
function scalarEnd(text: string, at: number): number | null {
  if (text[at] === '"') return stringEnd(text, at);
  for (const word of ["true", "false", "null"]) if (text.startsWith(word, at)) return at + word.length;
  NUMBER.lastIndex = at;
  return NUMBER.test(text) ? NUMBER.lastIndex : null;
}

/** Behind the closing quote of the string that begins at `at`; null: it has none. */
function stringEnd(text: string, at: number): number | null {
  for (let end = at + 1; end < text.length; end += 1) {
    if (text[end] === "\\") end += 1;
    else if (text[end] === '"') return end + 1;
  }
  return null;
}

function spaceEnd(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\t" || text[at] === "\r") at += 1;
  return at;
}

/**
 * Blocks: the stretches of a request's texts that compression works on, each with its class
 * (docs/rules/compression.md#blocks). What lies between blocks is never changed.
 */
import type { Steps } from "../../../shared/steps.ts";
import { textTokens } from "../request/token-estimate.ts";
import { countCodePoints } from "../wire/text/code-points.ts";
import { isCode, isLog, LINE_UNITS, linesOf } from "./classify.ts";
import { readJsonPrefix } from "./json-tree.ts";

/** The class of a block, which decides the passes that examine it. `diff`: whitespace matters in it, so no pass examines it. */
type BlockClass = "json" | "code" | "diff" | "log" | "prose";

/** A stretch of a text. */
export interface Block {
  /** Place of its text in the list of texts. */
  readonly text: number;
  /** Its place in that text, in UTF-16 units; `end` is after it. */
  readonly start: number;
  readonly end: number;
  readonly kind: BlockClass;
  /** The original text. */
  readonly original: string;
  /** The text for the upstream, after the passes so far. */
  readonly current: string;
  /** A later block refers to this one: no lossy pass may change it. */
  readonly referred: boolean;
}

type Stretch = Pick<Block, "start" | "end" | "kind">;

/**
 * The texts of a request are looked at up to this many characters, those that come first: a pass holds a few copies of a
 * text, an isolate has 128 MB for everything, and other requests wait while this one is compressed.
 */
export const TEXT_CHARS_MAX = 1024 * 1024;
/** Values that are read without result; after more of them nothing is JSON. */
const VAIN_MAX = 1000;
/** A text with more fences stays unchanged. */
const FENCES_MAX = 1000;
const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n]*)$/;
const DIFF = /^\s*(?:diff|patch)\b/i;

/** Tokens of a text by the rule of estimates (docs/rules/token-estimates.md#formulas). */
export function tokensOf(text: string): number {
  return textTokens(countCodePoints(text));
}

/** The blocks of at least `minTokens`, the `maxBlocks` longest of them, in the order of the texts. */
export function* blocksOf(texts: readonly string[], minTokens: number, maxBlocks: number): Steps<readonly Block[]> {
  const blocks: Block[] = [];
  let leftChars = TEXT_CHARS_MAX;
  for (const [index, text] of texts.entries()) {
    if (text.length < minTokens || text.length > leftChars) continue;
    leftChars -= text.length;
    for (const { start, end, kind } of yield* stretchesOf(text)) {
      yield LINE_UNITS + (end - start) / 64;
      const original = text.slice(start, end);
      if (tokensOf(original) < minTokens) continue;
      blocks.push({ text: index, start, end, kind, original, current: original, referred: false });
    }
  }
  const kept = longestFirst(blocks).slice(0, maxBlocks);
  return blocks.length > maxBlocks ? inOrder(kept) : blocks;
}

/** Blocks by length, the longest first; of equal ones the first in the request first. */
export function longestFirst(blocks: readonly Block[]): readonly Block[] {
  return [...blocks].sort((one, other) => other.original.length - one.original.length || byPlace(one, other));
}

/** Blocks in the order of the request. */
export function inOrder(blocks: readonly Block[]): readonly Block[] {
  return [...blocks].sort(byPlace);
}

/** The texts with the new contents of their blocks. Blocks of a text do not overlap. */
export function withBlocks(texts: readonly string[], blocks: readonly Block[]): readonly string[] {
  const pieces = texts.map((): string[] => []);
  const done = texts.map(() => 0);
  for (const block of inOrder(blocks)) {
    const text = texts[block.text] ?? "";
    pieces[block.text]?.push(text.slice(done[block.text] ?? 0, block.start), block.current);
    done[block.text] = block.end;
  }
  return texts.map((text, index) => [...(pieces[index] ?? []), text.slice(done[index] ?? 0)].join(""));
}

function byPlace(one: Block, other: Block): number {
  return one.text - other.text || one.start - other.start;
}

/** Every character of the text is in at most one stretch. */
function* stretchesOf(text: string): Steps<readonly Stretch[]> {
  const stretches: Stretch[] = [];
  let plainStart = 0;
  const fences = yield* fencesOf(text);
  if (fences.length > FENCES_MAX) return [];
  for (const fence of fences) {
    for (const one of yield* plainStretches(text, plainStart, fence.opened)) stretches.push(one);
    stretches.push(fence);
    plainStart = fence.closed;
  }
  for (const one of yield* plainStretches(text, plainStart, text.length)) stretches.push(one);
  return stretches;
}

/** The body of a code fence, without its fences. */
interface Fence extends Stretch {
  /** Where the line of the opening fence starts. */
  readonly opened: number;
  /** Where the line of the closing fence ends. */
  readonly closed: number;
}

/** The code fences; one without end takes the rest. */
function* fencesOf(text: string): Steps<readonly Fence[]> {
  const fences: Fence[] = [];
  let open: { readonly mark: string; readonly info: string; readonly opened: number; readonly start: number } | null =
    null;
  for (const { start, end } of linesOf(text)) {
    yield LINE_UNITS;
    // a fence is short; only the head of a long line can be one
    const match = FENCE.exec(text.slice(start, Math.min(end, start + 200)));
    if (match === null) continue;
    const [, mark = "", info = ""] = match;
    if (open === null) {
      open = { mark, info, opened: start, start: Math.min(end + 1, text.length) };
    } else if (mark[0] === open.mark[0] && mark.length >= open.mark.length && info.trim() === "") {
      const body = yield* fenceBody(text, open, Math.max(start - 1, open.start));
      if (fences.length > FENCES_MAX) break;
      fences.push({ ...body, opened: open.opened, closed: end });
      open = null;
    }
  }
  if (open !== null) {
    fences.push({ ...(yield* fenceBody(text, open, text.length)), opened: open.opened, closed: text.length });
  }
  return fences;
}

function* fenceBody(
  text: string,
  open: { readonly info: string; readonly start: number },
  end: number,
): Steps<Stretch> {
  const { start, info } = open;
  if (DIFF.test(info)) return { start, end, kind: "diff" };
  const body = yield* readJsonPrefix(text.slice(start, end), 0);
  const isJson = body.node !== null && body.node.kind !== "scalar" && isBlank(text, start + body.end, end);
  return { start, end, kind: isJson ? "json" : "code" };
}

/** Stretches outside fences: JSON values that start and end with a line, and the text between them. */
function* plainStretches(text: string, from: number, to: number): Steps<readonly Stretch[]> {
  const stretches: Stretch[] = [];
  let rest = from;
  // wasted reading is bounded, so a text of brackets costs no more than its length
  let [allowance, vain] = [2 * (to - from), 0];
  for (const { start, end } of linesOf(text.slice(from, to))) {
    yield LINE_UNITS;
    const at = from + start;
    if (
      at < rest ||
      allowance <= 0 ||
      vain >= VAIN_MAX ||
      !/^\s*[[{]/.test(text.slice(at, Math.min(from + end, at + 100)))
    )
      continue;
    const { node, end: stop } = yield* readJsonPrefix(text, at);
    const lineEnd = text.indexOf("\n", stop);
    const closes = node !== null && stop <= to && isBlank(text, stop, lineEnd === -1 ? text.length : lineEnd);
    if (!closes) {
      allowance -= stop - at;
      vain += 1;
      continue;
    }
    for (const one of yield* classified(text, rest, at)) stretches.push(one);
    stretches.push({ start: at, end: stop, kind: "json" });
    rest = stop;
  }
  for (const one of yield* classified(text, rest, to)) stretches.push(one);
  return stretches;
}

function* classified(text: string, start: number, end: number): Steps<readonly Stretch[]> {
  const stretch = text.slice(start, end);
  if (stretch.trim() === "") return [];
  if (yield* isLog(stretch)) return [{ start, end, kind: "log" }];
  return [{ start, end, kind: (yield* isCode(stretch)) ? "code" : "prose" }];
}

function isBlank(text: string, start: number, end: number): boolean {
  return text.slice(start, end).trim() === "";
}

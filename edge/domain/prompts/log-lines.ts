/**
 * Log compaction: lines that say the same become one with their number (docs/rules/compression.md#logs). Linear in the text.
 */
import type { Steps } from "../../../shared/steps.ts";
import { HASHED_MAX } from "../wire/text/hashed-key.ts";
import { LINE_UNITS, linesOf } from "./classify.ts";
import { OMITTED } from "./sentences.ts";

/** Lines of one template that may stay. */
const SAME_LINES_MAX = 3;
/** A longer line stays. */
const LINE_MAX = HASHED_MAX;
/** A line with one of these words stays, even if it repeats another. */
const KEPT = /error|warn|fatal|panic|exception/i;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const WORD = /[0-9A-Za-z]+/g;
const ID_CHARS_MIN = 6;
const HEX_CHARS_MIN = 8;

/**
 * The log with one line, followed by ` (×N)`, for the N lines of a template that is seen more than three times; null: nothing
 * can go. Where lines went, the line before them ends with ` [… omitted]`.
 */
export function* compactLog(text: string): Steps<string | null> {
  const lines: { readonly line: string; readonly template: string | null }[] = [];
  const counts = new Map<string, number>();
  for (const { start, end } of linesOf(text)) {
    const line = text.slice(start, end);
    const template = line.length > LINE_MAX || KEPT.test(line) ? null : templateOf(line);
    lines.push({ line, template });
    if (template !== null) counts.set(template, (counts.get(template) ?? 0) + 1);
    yield LINE_UNITS + Math.min(line.length, LINE_MAX);
  }
  const met = new Set<string>();
  const kept: string[] = [];
  let inGap = false;
  for (const { line, template } of lines) {
    yield LINE_UNITS;
    const times = template === null ? 0 : (counts.get(template) ?? 0);
    const repeats = template !== null && times > SAME_LINES_MAX;
    if (repeats && met.has(template)) {
      if (!inGap) kept.push(withMark(kept.pop() ?? "", OMITTED));
      inGap = true;
      continue;
    }
    if (repeats) met.add(template);
    kept.push(repeats ? withMark(line, ` (×${times})`) : line);
    inGap = false;
  }
  return kept.length < lines.length ? kept.join("\n") : null;
}

/** The line with its numbers, hex numbers, ids and times masked; null for a blank line, which is not a template. */
function templateOf(line: string): string | null {
  if (line.trim() === "") return null;
  return line.replace(UUID, "#").replace(WORD, masked);
}

function masked(word: string): string {
  if (/^\d/.test(word)) return "#";
  const isId = word.length >= ID_CHARS_MIN && /\d/.test(word);
  const isHex = word.length >= HEX_CHARS_MIN && /^[0-9a-f]+$/i.test(word);
  return isId || isHex ? "#" : word;
}

function withMark(line: string, mark: string): string {
  return line.endsWith("\r") ? `${line.slice(0, -1)}${mark}\r` : line + mark;
}

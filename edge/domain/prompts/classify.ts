/**
 * The class of a stretch of text outside code fences (docs/rules/compression.md#blocks): a log, source code, or prose. Each
 * line is examined once, and only its first characters.
 */

import type { Steps } from "../../../shared/steps.ts";

const LOG_LINES_MIN = 8;
/** Work for a line, in units. */
export const LINE_UNITS = 16;
/** Characters of a line that are looked at. */
const HEAD_CHARS = 200;
const STAMP_OR_LEVEL =
  /^[\s[(<"]{0,8}(?:\d{4}[-/]\d\d[-/]\d\d|\d\d[-/]\d\d[-/]\d{2,4}|\d\d?:\d\d:\d\d|\d{10}(?:\d{3})?\b|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? |(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d|[IWEF]\d{4} |(?:ts|time|timestamp|level)=|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|PANIC)\b)/i;
const CODE_END = /[{}();,\\\]]\s*$/;
const CODE_START =
  /^(?:\s*\d{1,6}(?:[\t|]|:(?!\d))|\s*(?:import|from|export|const|let|var|function|return|if|for|while|class|def|async|await|public|private|fn|func|package|use|#include|@\w+)\b|\s{2,}\S|\s*(?:\/\/|#|\*|--) )/;

/** At least 8 lines that are not blank, half of them starting with a time or a level. */
export function* isLog(text: string): Steps<boolean> {
  const { lines, matching } = yield* countLines(text, (line) => STAMP_OR_LEVEL.test(line));
  return lines >= LOG_LINES_MIN && matching * 2 >= lines;
}

/** Source code without a fence, a table or a listing: half of its lines look like code. No sentence is taken out of it. */
export function* isCode(text: string): Steps<boolean> {
  const { lines, matching } = yield* countLines(text, (line) => CODE_END.test(line) || CODE_START.test(line));
  return lines >= 3 && matching * 2 >= lines;
}

/** Where each line starts and ends, without its line feed. */
export function* linesOf(text: string): Generator<{ readonly start: number; readonly end: number }, void> {
  for (let start = 0; start <= text.length; ) {
    const feed = text.indexOf("\n", start);
    const end = feed === -1 ? text.length : feed;
    yield { start, end };
    start = end + 1;
  }
}

function* countLines(
  text: string,
  matches: (head: string) => boolean,
): Steps<{ readonly lines: number; readonly matching: number }> {
  let lines = 0;
  let matching = 0;
  for (const { start, end } of linesOf(text)) {
    yield LINE_UNITS;
    const line = text.slice(start, end);
    if (line.trim() === "") continue;
    lines += 1;
    if (matches(line.length > HEAD_CHARS ? line.slice(0, HEAD_CHARS) : line)) matching += 1;
  }
  return { lines, matching };
}

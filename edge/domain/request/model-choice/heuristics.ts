/**
 * The tags that fit a request by signals in its text (docs/rules/auto-router.md#heuristics), for when no classifier
 * decides. In time linear in the text.
 */
import type { RequestTraits } from "./request-traits.ts";

/** Only so many characters at the end of the conversation are read, so that this work fits into one turn of the event loop. */
const READ_MAX = 64 * 1024;
/** Above so many estimated tokens the tag is `long-context`. */
const LONG_CONTEXT_TOKENS = 32_000;

/** Keywords that count only with a space after them. */
const CODE_BEGINNINGS = ["function", "def", "class", "import", "select", "public", "const"];
const CODE_WORDS = [
  "code",
  "compile",
  "stack trace",
  "bug",
  "python",
  "javascript",
  "typescript",
  "rust",
  "java",
  "sql",
  "regex",
];
const MATH_WORDS = [
  "solve",
  "equation",
  "integral",
  "derivative",
  "theorem",
  "calculate",
  "probability",
  "algebra",
  "calculus",
  "matrix",
];

const WORD_CHARACTER = String.raw`[\p{L}\p{M}\p{N}_]`;

const CODE = new RegExp(
  ["```|=>", `(?<!${WORD_CHARACTER})(?:${CODE_BEGINNINGS.join("|")}) `, wholeWords(CODE_WORDS)].join("|"),
  "iu",
);
const MATH = new RegExp(wholeWords(MATH_WORDS), "iu");
/** An operator between two digits or letters, perhaps with a space on each side. With a `=` in the text it counts as math, in a URL too. */
const OPERATION = /[\p{L}\p{N}] ?[-+*/^] ?[\p{L}\p{N}]/u;

/** The tags that fit the request: of `vision`, `coding`, `math` and `long-context`, in this order. */
export function heuristicTags({ needs, userTexts: all, estimatedTokens }: RequestTraits): readonly string[] {
  const userTexts = lastOf(all);
  const signals: readonly (readonly [tag: string, isSeen: boolean])[] = [
    ["vision", needs.vision],
    ["coding", userTexts.some((text) => CODE.test(text))],
    ["math", userTexts.some((text) => MATH.test(text) || (text.includes("=") && OPERATION.test(text)))],
    ["long-context", estimatedTokens > LONG_CONTEXT_TOKENS],
  ];
  return signals.flatMap(([tag, isSeen]) => (isSeen ? [tag] : []));
}

/** The last texts, as far as they are read. */
function lastOf(texts: readonly string[]): readonly string[] {
  const last: string[] = [];
  let room = READ_MAX;
  for (let at = texts.length - 1; at >= 0 && room > 0; at -= 1) {
    const text = (texts[at] ?? "").slice(-room);
    room -= text.length + 1;
    last.push(text);
  }
  return last;
}

/** A pattern for one of these words as a whole word. */
function wholeWords(words: readonly string[]): string {
  return `(?<!${WORD_CHARACTER})(?:${words.join("|")})(?!${WORD_CHARACTER})`;
}

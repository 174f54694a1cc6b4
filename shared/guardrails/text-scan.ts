/**
 * Finds prompt injection, personal data and banned keywords in texts, and replaces personal data and keywords
 * (docs/rules/guardrails.md#scanners). Pure: it never logs, and what it answers names no matched text.
 */

/** A scanner that needs no model. */
export type TextScanner = "prompt_injection" | "pii" | "ban_keywords";

/** One text of a request, in the order in which the model reads them. */
export interface ScannedText {
  readonly text: string;
  /** Whether the client's user wrote it. One pattern of prompt injection is normal in other texts. */
  readonly user: boolean;
}

/** A part of a given text, in UTF-16 units. */
interface ScanSpan {
  /** Index in the list of texts. */
  readonly text: number;
  readonly start: number;
  readonly end: number;
}

/** What a scanner found. A match over several texts has a span in each. */
export interface ScanMatch {
  readonly scanner: TextScanner;
  /** The name of the pattern, the kind of personal data, or the place of the keyword in the policy. */
  readonly label: string;
  readonly spans: readonly ScanSpan[];
}

/** How many parts of the text were replaced. */
export interface RedactionCounts {
  readonly pii: number;
  readonly ban_keywords: number;
}

/** Replaces matches in a text that arrives in pieces. */
export interface RedactingStream {
  /** Takes the next piece, and answers the text that no match can change any more. */
  push(text: string): string;
  /** Answers what was held back. Nothing may be pushed afterwards. */
  finish(): string;
  readonly counts: RedactionCounts;
}

/** The scanners of one policy, ready to be used on many texts. */
export interface TextScan {
  scanTexts(texts: readonly ScannedText[]): readonly ScanMatch[];
  redactTexts(texts: readonly ScannedText[]): { readonly texts: readonly string[]; readonly counts: RedactionCounts };
  openStream(): RedactingStream;
}

/** What a policy switches on. */
export interface ScanPolicy {
  readonly scanners: readonly TextScanner[];
  readonly banKeywords: readonly string[];
}

const INJECTION = [
  /\b(?:ignore|disregard|forget|override|bypass|skip|neglect)\b.{0,30}\b(?:previous|prior|above|earlier|preceding|all|any|your|system)\b.{0,30}\b(?:instructions?|prompts?|rules?|directives?|guidelines?)\b/gisu,
];
const PII: readonly (readonly [string, RegExp])[] = [
  ["SSN", /(?<!\d)(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?!\d)/g],
  ["EMAIL", /[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}/g],
];

/** The scanners of a policy. Costs time in the length of the keywords: callers keep the result. */
export function compileScan({ scanners, banKeywords }: ScanPolicy): TextScan {
  const patterns: [TextScanner, string, RegExp, string][] = [];
  if (scanners.includes("prompt_injection"))
    for (const re of INJECTION) patterns.push(["prompt_injection", "override", re, ""]);
  if (scanners.includes("pii")) for (const [label, re] of PII) patterns.push(["pii", label, re, `[REDACTED:${label}]`]);
  if (scanners.includes("ban_keywords")) {
    for (const [at, keyword] of banKeywords.entries()) {
      const source = keyword
        .trim()
        .split(/\s+/)
        .map((word) => word.replace(/[^\p{L}\p{Nd}_]/gu, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`))
        .join("\\s{1,32}");
      patterns.push([
        "ban_keywords",
        `ban_keywords[${at}]`,
        new RegExp(`(?<![\\p{L}\\p{Nd}_])${source}(?![\\p{L}\\p{Nd}_])`, "giu"),
        "[REDACTED]",
      ]);
    }
  }
  const redact = (text: string, counts: { pii: number; ban_keywords: number }): string => {
    let left = text;
    for (const [scanner, , re, replacement] of patterns) {
      if (scanner === "prompt_injection") continue;
      left = left.replace(re, () => {
        counts[scanner] += 1;
        return replacement;
      });
    }
    return left;
  };
  return {
    scanTexts: (texts) =>
      texts.flatMap(({ text }, at) =>
        patterns.flatMap(([scanner, label, re]) =>
          [...text.matchAll(re)].map((found) => ({
            scanner,
            label,
            spans: [{ text: at, start: found.index, end: found.index + found[0].length }],
          })),
        ),
      ),
    redactTexts: (texts) => {
      const counts = { pii: 0, ban_keywords: 0 };
      return { texts: texts.map(({ text }) => redact(text, counts)), counts };
    },
    openStream: () => {
      const counts = { pii: 0, ban_keywords: 0 };
      let held = "";
      return {
        push(text) {
          held += text;
          return "";
        },
        finish: () => redact(held, counts),
        counts,
      };
    },
  };
}

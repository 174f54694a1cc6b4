/**
 * The parts of a text that are replaced, and their replacements: personal data by its label, keywords by a mark
 * (docs/rules/guardrails.md#scanners). Where matches overlap, the whole of them is replaced once, as the first personal data in
 * it.
 */
import type { FoundSpans } from "./found-spans.ts";
import { PII_LABELS } from "./pii.ts";

/** The replacement of a keyword. */
export const REDACTED = "[REDACTED]";

/** How many parts of a text were replaced, by kind. */
export interface RedactionCounts {
  readonly pii: number;
  readonly ban_keywords: number;
}

/** Running counts. */
export type MutableCounts = { -readonly [Scanner in keyof RedactionCounts]: number };

/** A part of a text, and its replacement. */
interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly scanner: "pii" | "ban_keywords";
  readonly text: string;
}

const NOTHING: readonly Replacement[] = [];

type Growing = { -readonly [Field in keyof Replacement]: Replacement[Field] };

/** The parts to replace, in the order of the text; no two overlap. */
export function replacementsOf(pii: FoundSpans | null, keywords: FoundSpans | null): readonly Replacement[] {
  if (!pii?.starts.length && !keywords?.starts.length) return NOTHING;
  const all = [...(pii === null ? [] : personalData(pii)), ...(keywords === null ? [] : bannedKeywords(keywords))];
  all.sort((a, b) => a.start - b.start);
  const merged: Growing[] = [];
  for (const one of all) {
    const last = merged.at(-1);
    if (last === undefined || last.end <= one.start) {
      merged.push({ ...one });
      continue;
    }
    last.end = Math.max(last.end, one.end);
    if (last.scanner === "ban_keywords") [last.scanner, last.text] = [one.scanner, one.text];
  }
  return merged;
}

function personalData({ labels, starts, ends }: FoundSpans): readonly Replacement[] {
  return starts.map((start, at) => ({
    start,
    end: ends[at] ?? start,
    scanner: "pii",
    text: `[REDACTED:${PII_LABELS[labels[at] ?? 0]}]`,
  }));
}

function bannedKeywords({ starts, ends }: FoundSpans): readonly Replacement[] {
  return starts.map((start, at) => ({ start, end: ends[at] ?? start, scanner: "ban_keywords", text: REDACTED }));
}

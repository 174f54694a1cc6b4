/**
 * Finds prompt injection, personal data and banned keywords in texts, and replaces personal data and keywords
 * (docs/rules/guardrails.md#scanners). Pure: it never logs, and what it answers names no matched text. The work is linear in
 * the texts, whatever they are.
 */
import { fold } from "./fold.ts";
import { FoundSpans, MAX_GAP } from "./found-spans.ts";
import { collapseSpaces, findInjections } from "./injection.ts";
import { INJECTION_PATTERNS } from "./injection-patterns.ts";
import { JoinedTexts, type ScanSpan } from "./joined-texts.ts";
import type { KeywordTrie } from "./keyword-trie.ts";
import { compileKeywords, KeywordFinder } from "./keywords.ts";
import { PII_LABELS, PiiFinder } from "./pii.ts";
import { openRedactingStream, type RedactingStream } from "./redacting-stream.ts";
import { type RedactionCounts, replacementsOf } from "./replacements.ts";
import { UnitBuffer } from "./unit-buffer.ts";

/** A scanner that needs no model. */
export type TextScanner = "prompt_injection" | "pii" | "ban_keywords";

/** One text of a request, in the order in which the model reads them. */
export interface ScannedText {
  readonly text: string;
  /** Whether the client's user wrote it. One pattern of prompt injection is normal in other texts. */
  readonly user: boolean;
}

/** What a scanner found. A match over several texts has a span in each. */
export interface ScanMatch {
  readonly scanner: TextScanner;
  /** The name of the pattern, the kind of personal data, or the place of the keyword in the policy. */
  readonly label: string;
  readonly spans: readonly ScanSpan[];
}

/** The scanners of one policy, ready to be used on many texts. */
export interface TextScan {
  /**
   * What is found in the texts, each alone and over the borders of neighbours: each pattern of prompt injection once, and at
   * most `MAX_MATCHES` of each other scanner. By scanner, then in the order of the texts.
   */
  scanTexts(texts: readonly ScannedText[]): readonly ScanMatch[];
  /** The texts with all personal data and keywords replaced. What is split over texts is replaced in the first of them. */
  redactTexts(texts: readonly ScannedText[]): { readonly texts: readonly string[]; readonly counts: RedactionCounts };
  /** Replaces the same in one text that arrives in pieces. */
  openStream(): RedactingStream;
}

/** What a policy switches on. */
export interface ScanPolicy {
  readonly scanners: readonly TextScanner[];
  /** Each at most 200 characters, at most 1,000 of them; looked for when the scanner is on. */
  readonly banKeywords: readonly string[];
}

/** Matches of one scanner that are listed one by one: a hostile text has one in every second character. */
const MAX_MATCHES = 1_000;

/** How far from the border of two texts a match over it may begin or end; keywords may make it more. */
const SEAM_REACH = 512;

/** The scanners of a policy. Costs time in the length of the keywords: callers keep the result. */
export function compileScan({ scanners, banKeywords }: ScanPolicy): TextScan {
  const has = (scanner: TextScanner): boolean => scanners.includes(scanner);
  return new CompiledScan(
    has("prompt_injection"),
    has("pii"),
    has("ban_keywords") && banKeywords.length > 0 ? compileKeywords(banKeywords) : null,
  );
}

/** What was found in texts one after another, in places of these. */
interface Findings {
  readonly pii: FoundSpans;
  readonly keywords: FoundSpans;
  readonly injections: Map<number, { readonly start: number; readonly end: number }>;
}

class CompiledScan implements TextScan {
  readonly #hasInjection: boolean;
  readonly #hasPii: boolean;
  readonly #keywords: KeywordTrie | null;

  constructor(hasInjection: boolean, hasPii: boolean, keywords: KeywordTrie | null) {
    this.#hasInjection = hasInjection;
    this.#hasPii = hasPii;
    this.#keywords = keywords;
  }

  scanTexts(texts: readonly ScannedText[]): readonly ScanMatch[] {
    const joined = new JoinedTexts(texts.map(({ text }) => text));
    const { injections, pii, keywords } = this.#find(joined, texts, this.#hasInjection);
    const injected = [...injections]
      .sort(([a], [b]) => a - b)
      .map(
        ([pattern, { start, end }]): ScanMatch => ({
          scanner: "prompt_injection",
          label: INJECTION_PATTERNS[pattern]?.label ?? "",
          spans: joined.spansBetween(start, end),
        }),
      );
    return [
      ...injected,
      ...matchesOf("pii", pii, joined, (label) => PII_LABELS[label] ?? ""),
      ...matchesOf("ban_keywords", keywords, joined, (label) => `ban_keywords[${label}]`),
    ];
  }

  redactTexts(texts: readonly ScannedText[]): { readonly texts: readonly string[]; readonly counts: RedactionCounts } {
    const joined = new JoinedTexts(texts.map(({ text }) => text));
    const { pii, keywords } = this.#find(joined, texts, false);
    const counts = { pii: 0, ban_keywords: 0 };
    const out = texts.map(() => "");
    const written = texts.map(() => 0);
    for (const { start, end, scanner, text } of replacementsOf(pii, keywords)) {
      counts[scanner] += 1;
      for (const [nth, span] of joined.spansBetween(start, end).entries()) {
        const before = texts[span.text]?.text.slice(written[span.text], span.start) ?? "";
        out[span.text] += before + (nth === 0 ? text : "");
        written[span.text] = span.end;
      }
    }
    return { texts: out.map((text, at) => text + (texts[at]?.text.slice(written[at]) ?? "")), counts };
  }

  openStream(): RedactingStream {
    return openRedactingStream(this.#hasPii, this.#keywords);
  }

  #find(joined: JoinedTexts, texts: readonly ScannedText[], withInjection: boolean): Findings {
    const isUsers = (start: number, end: number): boolean =>
      joined.spansBetween(start, end).every(({ text }) => texts[text]?.user === true);
    const found = this.#findIn(joined.lines, withInjection, {
      placeOf: (index) => joined.placeOf(index),
      counts: () => true,
      isUsers,
    });
    if (texts.length < 2) return found;

    const overSeams = noFindings();
    for (const { text, start, seams } of joined.seams(this.#reach())) {
      const one = this.#findIn(text, withInjection, {
        placeOf: (index) => start + index,
        // what begins where a long text was cut may in truth begin elsewhere
        counts: (from, to) => (start === 0 || from > start) && hasBetween(seams, from - start, to - start),
        isUsers,
      });
      overSeams.pii.addAll(one.pii);
      overSeams.keywords.addAll(one.keywords);
      for (const [pattern, place] of one.injections) {
        if (!found.injections.has(pattern)) found.injections.set(pattern, place);
      }
    }
    found.pii.addThoseApart(overSeams.pii);
    found.keywords.addThoseOutside(overSeams.keywords);
    return found;
  }

  #reach(): number {
    return Math.max(SEAM_REACH, (this.#keywords?.longest ?? 0) * (MAX_GAP + 1));
  }

  #findIn(text: string, withInjection: boolean, where: Where): Findings {
    const found = noFindings();
    if (this.#hasPii) {
      const pii = new FoundSpans();
      new PiiFinder(pii).take(text, 0, 0, true);
      addPlaces(found.pii, pii, where);
      found.pii.sort();
    }
    if (this.#keywords === null && !withInjection) return found;

    const folded = new UnitBuffer(text.length + 8);
    fold(text, 0, true, 0, folded);
    if (this.#keywords !== null) {
      const keywords = new FoundSpans();
      const finder = new KeywordFinder(this.#keywords, keywords);
      finder.take(folded);
      finder.readUpTo(text.length, true);
      addPlaces(found.keywords, keywords, where);
    }
    if (withInjection) {
      collapseSpaces(folded);
      findInjections(folded, (pattern, start, end) => {
        const [from, to] = [where.placeOf(start), where.placeOf(end)];
        if (!where.counts(from, to)) return false;
        if (INJECTION_PATTERNS[pattern]?.userOnly === true && !where.isUsers(from, to)) return false;
        found.injections.set(pattern, { start: from, end: to });
        return true;
      });
    }
    return found;
  }
}

function noFindings(): Findings {
  return { pii: new FoundSpans(), keywords: new FoundSpans(), injections: new Map() };
}

/** How places of a text that is scanned are places of the texts one after another. */
interface Where {
  placeOf(index: number): number;
  /** Whether a match between two places counts. */
  counts(start: number, end: number): boolean;
  /** Whether only texts of users are between two places. */
  isUsers(start: number, end: number): boolean;
}

function addPlaces(target: FoundSpans, { labels, starts, ends }: FoundSpans, where: Where): void {
  for (const [at, label] of labels.entries()) {
    const [start, end] = [where.placeOf(starts[at] ?? 0), where.placeOf(ends[at] ?? 0)];
    if (where.counts(start, end)) target.add(label, start, end);
  }
}

/** Whether one of the ascending places is between two others. */
function hasBetween(places: readonly number[], start: number, end: number): boolean {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((places[middle] ?? 0) > start) high = middle;
    else low = middle + 1;
  }
  return (places[low] ?? end) < end;
}

function matchesOf(
  scanner: TextScanner,
  { labels, starts, ends }: FoundSpans,
  joined: JoinedTexts,
  labelOf: (label: number) => string,
): readonly ScanMatch[] {
  return labels.slice(0, MAX_MATCHES).map((label, at) => ({
    scanner,
    label: labelOf(label),
    spans: joined.spansBetween(starts[at] ?? 0, ends[at] ?? 0),
  }));
}

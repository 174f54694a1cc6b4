/**
 * Finds prompt injection, personal data and banned keywords in texts, and replaces personal data and keywords
 * (docs/rules/guardrails.md#scanners). Pure: it never logs, and its results contain no matched text. The work is linear in the
 * texts and their folded form, for any texts.
 */
import { atOnce, type Steps } from "../steps.ts";
import { FoundSpans, MAX_GAP } from "./found-spans.ts";
import { INJECTION_PATTERNS } from "./injection-patterns.ts";
import { hasWithin, JoinedTexts, type ScanSpan } from "./joined-texts.ts";
import type { KeywordTrie } from "./keyword-trie.ts";
import { compileKeywords } from "./keywords.ts";
import { PII_LABELS } from "./pii.ts";
import { RedactedTexts } from "./redacted-texts.ts";
import { openRedactingStream, type RedactingStream } from "./redacting-stream.ts";
import type { MutableCounts, RedactionCounts } from "./replacements.ts";
import { type Scanners, TextsReading } from "./texts-reading.ts";
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

/** Remaining characters to read, of texts or of their folded form; below 0: a part was not read. */
export interface ScanRoom {
  units: number;
}

/** Texts with their matches replaced. */
interface Redacted {
  readonly texts: readonly string[];
  readonly counts: RedactionCounts;
}

/** The scanners of one policy, ready to be used on many texts. */
export interface TextScan {
  /**
   * The findings in the texts, in each alone and over the borders of neighbours: each pattern of prompt injection once, and at
   * most `MAX_MATCHES` of each other scanner. By scanner, then in the order of the texts.
   */
  scanTexts(texts: readonly ScannedText[]): readonly ScanMatch[];
  /** The texts with all personal data and keywords replaced. What is split over texts is replaced in the first of them. */
  redactTexts(texts: readonly ScannedText[]): Redacted;
  /** The same in steps, as far as there is room. */
  scanning(texts: readonly ScannedText[], room: ScanRoom): Steps<readonly ScanMatch[]>;
  redacting(texts: readonly ScannedText[], room: ScanRoom): Steps<Redacted>;
  /** Replaces the same in texts that arrive in pieces, and counts it. */
  openStream(counts: MutableCounts): RedactingStream;
}

/** What a policy switches on. */
interface ScanPolicy {
  readonly scanners: readonly TextScanner[];
  /** Each at most 200 characters, at most 1,000 of them; looked for when the scanner is on. */
  readonly banKeywords: readonly string[];
}

/** Matches of one scanner that are listed one by one: a hostile text has one in every second character. */
const MAX_MATCHES = 1_000;

/** How many characters are read at once. */
const UNITS_AT_ONCE = 1_024;

/** How far from the border of two texts a match over it may start or end; keywords may extend it. */
const SEAM_REACH = 512;

/**
 * The scanners of a policy. Costs time in the length of the keywords: callers keep the result.
 * @param unitsAtOnce how many characters are read at once: this affects only how much is held
 */
export function compileScan({ scanners, banKeywords }: ScanPolicy, unitsAtOnce = UNITS_AT_ONCE): TextScan {
  const has = (scanner: TextScanner): boolean => scanners.includes(scanner);
  return new CompiledScan(
    has("prompt_injection"),
    has("pii"),
    has("ban_keywords") && banKeywords.length > 0 ? compileKeywords(banKeywords) : null,
    unitsAtOnce,
  );
}

/** The matches in texts one after another, in places of these. */
interface Findings {
  readonly pii: FoundSpans;
  readonly keywords: FoundSpans;
  readonly injections: Map<number, { readonly start: number; readonly end: number }>;
}

/** What a reading costs before its first character, in units: thousands of short texts can be read one by one. */
const READING_UNITS = 256;

class CompiledScan implements TextScan {
  readonly #hasInjection: boolean;
  readonly #hasPii: boolean;
  readonly #keywords: KeywordTrie | null;
  readonly #unitsAtOnce: number;
  /** Reused by each reading: creating it for each short text costs more time than reading the text. */
  readonly #folded = new UnitBuffer(0);
  /** The same for readings, which last longer than a call; null while one has it. */
  #spare: UnitBuffer | null = null;

  constructor(hasInjection: boolean, hasPii: boolean, keywords: KeywordTrie | null, unitsAtOnce: number) {
    this.#hasInjection = hasInjection;
    this.#hasPii = hasPii;
    this.#keywords = keywords;
    this.#unitsAtOnce = unitsAtOnce;
  }

  scanTexts(texts: readonly ScannedText[]): readonly ScanMatch[] {
    return atOnce(this.scanning(texts, { units: Number.POSITIVE_INFINITY }));
  }

  redactTexts(texts: readonly ScannedText[]): Redacted {
    return atOnce(this.redacting(texts, { units: Number.POSITIVE_INFINITY }));
  }

  *scanning(texts: readonly ScannedText[], room: ScanRoom): Steps<readonly ScanMatch[]> {
    const joined = new JoinedTexts(texts.map(({ text }) => text));
    yield READING_UNITS + texts.length;
    const { injections, pii, keywords } = yield* this.#find(joined, texts, room);
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

  *redacting(texts: readonly ScannedText[], room: ScanRoom): Steps<Redacted> {
    const given = texts.map(({ text }) => text);
    const joined = new JoinedTexts(given);
    yield READING_UNITS;
    const overSeams = yield* this.#findOverSeams(joined, texts, false, room);
    const redacted = new RedactedTexts(given, joined, overSeams);
    const all = whereIn(joined, texts);
    yield* this.#read(given, null, room, ({ pii, keywords, decided }) => {
      const placed = { pii: new FoundSpans(), keywords: new FoundSpans() };
      addPlaces(placed.pii, pii, all);
      addPlaces(placed.keywords, keywords, all);
      redacted.take(placed, joined.placeOf(decided));
    });
    return redacted.finish();
  }

  openStream(counts: MutableCounts): RedactingStream {
    return openRedactingStream(this.#hasPii, this.#keywords, this.#folded, counts);
  }

  *#find(joined: JoinedTexts, texts: readonly ScannedText[], room: ScanRoom): Steps<Findings> {
    const given = texts.map(({ text }) => text);
    const found = yield* this.#findIn(given, this.#hasInjection, whereIn(joined, texts), room, MAX_MATCHES);
    const overSeams = yield* this.#findOverSeams(joined, texts, this.#hasInjection, room);
    for (const [pattern, place] of overSeams.injections) {
      if (!found.injections.has(pattern)) found.injections.set(pattern, place);
    }
    found.pii.addThoseApart(overSeams.pii);
    found.keywords.addThoseOutside(overSeams.keywords);
    return found;
  }

  *#findOverSeams(
    joined: JoinedTexts,
    texts: readonly ScannedText[],
    withInjection: boolean,
    room: ScanRoom,
  ): Steps<Findings> {
    const found = noFindings();
    if (texts.length < 2) return found;
    const { isUsers } = whereIn(joined, texts);
    for (const { texts: touching, start, seams } of yield* joined.seams(this.#reach())) {
      const where = {
        placeOf: (index: number): number => start + index,
        // a match at the start of a cut text may really start earlier
        counts: (from: number, to: number): boolean =>
          (start === 0 || from > start) && hasWithin(seams, from - start + 1, to - start - 1),
        isUsers,
      };
      const one = yield* this.#findIn(touching, withInjection, where, room, Number.POSITIVE_INFINITY, seams);
      if (this.#keywords?.hasBlanks === true) {
        const spaced = new FoundSpans();
        yield* this.#read(touching, null, room, ({ keywords }) => addPlaces(spaced, keywords, where), seams, true);
        one.keywords.addThoseApart(spaced);
      }
      found.pii.addAll(one.pii);
      found.keywords.addAll(one.keywords);
      for (const [pattern, place] of one.injections) {
        if (!found.injections.has(pattern)) found.injections.set(pattern, place);
      }
    }
    return found;
  }

  #reach(): number {
    return Math.max(SEAM_REACH, (this.#keywords?.longest ?? 0) * (MAX_GAP + 1));
  }

  /**
   * @param most how many matches of personal data, and of keywords, are answered
   * @param seams where the texts touch; without it, line breaks are between them
   */
  *#findIn(
    texts: readonly string[],
    withInjection: boolean,
    where: Where,
    room: ScanRoom,
    most = Number.POSITIVE_INFINITY,
    seams: readonly number[] = [],
  ): Steps<Findings> {
    const found = noFindings();
    const injected = (pattern: number, start: number, end: number): boolean => {
      const [from, to] = [where.placeOf(start), where.placeOf(end)];
      if (!where.counts(from, to)) return false;
      if (INJECTION_PATTERNS[pattern]?.userOnly === true && !where.isUsers(from, to)) return false;
      found.injections.set(pattern, { start: from, end: to });
      return true;
    };
    const add = ({ pii, keywords }: ReturnType<TextsReading["takeFound"]>): void => {
      addPlaces(found.pii, pii, where, most);
      addPlaces(found.keywords, keywords, where, most);
    };
    yield* this.#read(texts, withInjection ? injected : null, room, add, seams);
    return found;
  }

  /** Reads texts in steps as far as there is room, and tells what each step has found. */
  *#read(
    texts: readonly string[],
    injected: Scanners["injected"],
    room: ScanRoom,
    found: (step: ReturnType<TextsReading["takeFound"]>) => void,
    seams: readonly number[] = [],
    areBlanks = false,
  ): Steps<void> {
    const scanners = { pii: this.#hasPii && !areBlanks, keywords: this.#keywords, injected };
    const folded = this.#spare ?? new UnitBuffer(0);
    this.#spare = null;
    const reading = new TextsReading(texts, scanners, folded, this.#unitsAtOnce, seams, areBlanks);
    while (!reading.isOver && room.units >= 0) {
      const units = reading.step();
      room.units -= units;
      found(reading.takeFound());
      yield units;
    }
    this.#spare = folded;
  }
}

function noFindings(): Findings {
  return { pii: new FoundSpans(), keywords: new FoundSpans(), injections: new Map() };
}

/** How places of a text that is scanned are places of the texts one after another. */
interface Where {
  readonly placeOf: (index: number) => number;
  /** Whether a match between two places counts. */
  readonly counts: (start: number, end: number) => boolean;
  /** Whether only texts of users are between two places. */
  readonly isUsers: (start: number, end: number) => boolean;
}

/** In the texts of a request, with a line break between two of them. */
function whereIn(joined: JoinedTexts, texts: readonly ScannedText[]): Where {
  return {
    placeOf: (index) => joined.placeOf(index),
    counts: () => true,
    isUsers: (start, end) => joined.spansBetween(start, end).every(({ text }) => texts[text]?.user === true),
  };
}

function addPlaces(
  target: FoundSpans,
  { labels, starts, ends }: FoundSpans,
  where: Where,
  most = Number.POSITIVE_INFINITY,
): void {
  for (const [at, label] of labels.entries()) {
    if (target.starts.length >= most) return;
    const [start, end] = [where.placeOf(starts[at] ?? 0), where.placeOf(ends[at] ?? 0)];
    if (where.counts(start, end)) target.add(label, start, end);
  }
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

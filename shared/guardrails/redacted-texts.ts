/**
 * Writes texts with personal data and keywords replaced, as far as matches are decided. The memory that it holds besides the
 * written texts does not grow with them. A match that is split over texts is replaced in the first of them and removed from the
 * others (docs/rules/guardrails.md#split-texts).
 */
import { FoundSpans } from "./found-spans.ts";
import type { JoinedTexts } from "./joined-texts.ts";
import { type RedactionCounts, replacementsOf } from "./replacements.ts";

/** Personal data and keywords, in places of the texts one after another. */
interface FoundInTexts {
  readonly pii: FoundSpans;
  readonly keywords: FoundSpans;
}

/** The texts of one request. */
export class RedactedTexts {
  readonly #texts: readonly string[];
  readonly #joined: JoinedTexts;
  /** Matches in the texts that are not written yet. */
  readonly #found: FoundInTexts = { pii: new FoundSpans(), keywords: new FoundSpans() };
  /** Matches over borders of texts, and how many of them were written. */
  readonly #overSeams: FoundInTexts;
  readonly #written = { pii: 0, keywords: 0 };
  readonly #out: string[] = [];
  readonly #counts = { pii: 0, ban_keywords: 0 };
  /** The current text: its written parts, the parts written last, and up to where. */
  #parts: string[] = [];
  #lastParts: string[] = [];
  #end = 0;

  /** @param overSeams everything that was found over borders of the texts */
  constructor(texts: readonly string[], joined: JoinedTexts, overSeams: FoundInTexts) {
    this.#texts = texts;
    this.#joined = joined;
    this.#overSeams = overSeams;
  }

  /** Takes the matches in the texts up to a place, and writes those that no later match can overlap. */
  take({ pii, keywords }: FoundInTexts, decided: number): void {
    this.#found.pii.addAll(pii);
    this.#found.keywords.addAll(keywords);
    const place = this.#placeWithoutOverlap(decided);
    const ofPii = this.#found.pii.takeUpTo(place);
    const ofKeywords = this.#found.keywords.takeUpTo(place);
    ofPii.addThoseApart(this.#seamsUpTo("pii", place));
    ofKeywords.addThoseOutside(this.#seamsUpTo("keywords", place));
    for (const { start, end, scanner, text } of replacementsOf(ofPii, ofKeywords)) {
      this.#counts[scanner] += 1;
      for (const [nth, span] of this.#joined.spansBetween(start, end).entries()) {
        this.#openText(span.text);
        const before = this.#texts[span.text]?.slice(this.#end, span.start) ?? "";
        this.#lastParts.push(before, nth === 0 ? text : "");
        this.#end = span.end;
      }
    }
    // one string for many small ones, which take more memory than their characters
    if (this.#lastParts.length > 0) this.#parts.push(this.#lastParts.join(""));
    this.#lastParts = [];
  }

  /** The texts, when everything was taken. */
  finish(): { readonly texts: readonly string[]; readonly counts: RedactionCounts } {
    this.#openText(this.#texts.length);
    return { texts: this.#out, counts: this.#counts };
  }

  /** The last place, up to a given one, that is within nothing that was found. */
  #placeWithoutOverlap(decided: number): number {
    const { pii, keywords } = this.#overSeams;
    const lists = [
      { spans: this.#found.pii, first: 0 },
      { spans: this.#found.keywords, first: 0 },
      { spans: pii, first: this.#written.pii },
      { spans: keywords, first: this.#written.keywords },
    ].map(({ spans, first }) => ({ spans, first, next: spans.endingBy(decided, first) }));
    let place = decided;
    for (let before = Number.NaN; before !== place; ) {
      before = place;
      for (const list of lists) {
        const { starts, ends } = list.spans;
        while (list.next > list.first && (ends[list.next - 1] ?? 0) > place) list.next -= 1;
        place = Math.min(place, starts[list.next] ?? place);
      }
    }
    return place;
  }

  /** Unwritten matches over borders that end at a place or before it. */
  #seamsUpTo(kind: keyof FoundInTexts, place: number): FoundSpans {
    const spans = this.#overSeams[kind];
    const first = this.#written[kind];
    const next = spans.endingBy(place, first);
    this.#written[kind] = next;
    return spans.part(first, next);
  }

  /** Ends the texts before one, which are written to their ends. */
  #openText(nth: number): void {
    while (this.#out.length < nth) {
      const text = this.#texts[this.#out.length] ?? "";
      const isChanged = this.#end > 0 || this.#parts.length > 0 || this.#lastParts.length > 0;
      this.#out.push(isChanged ? [...this.#parts, ...this.#lastParts, text.slice(this.#end)].join("") : text);
      [this.#parts, this.#lastParts, this.#end] = [[], [], 0];
    }
  }
}

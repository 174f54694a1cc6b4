/**
 * Reads texts once with all scanners of a policy, with a line break between two texts or as texts that touch, in steps of a
 * bounded size: its memory does not grow with the texts (docs/rules/guardrails.md#what-a-scan-holds). Places are counted with
 * the line breaks.
 */
import { collapseBlanks, fold, SEAM } from "./fold.ts";
import { FoundSpans } from "./found-spans.ts";
import { InjectionFinder, KEPT_UNITS } from "./injection.ts";
import type { KeywordTrie } from "./keyword-trie.ts";
import { KeywordFinder } from "./keywords.ts";
import { PiiScan } from "./pii-scan.ts";
import type { UnitBuffer } from "./unit-buffer.ts";

const LINE_BREAK = 10;

const HIGH_HALVES = /[\ud800-\udbff]/g;
/** Additional work for folding a surrogate pair, in units. */
const PAIR_UNITS = 16;

/** What is looked for. */
export interface Scanners {
  readonly pii: boolean;
  readonly keywords: KeywordTrie | null;
  /** Called with the number of a pattern and its place, until it returns true; null: patterns are not searched. */
  readonly injected: ((pattern: number, start: number, end: number) => boolean) | null;
}

/** One reading of some texts. */
export class TextsReading {
  readonly #texts: readonly string[];
  readonly #atOnce: number;
  readonly #isTouching: boolean;
  readonly #pii: PiiScan | null;
  readonly #keywords: KeywordFinder | null;
  readonly #foundKeywords = new FoundSpans();
  readonly #injections: InjectionFinder | null;
  readonly #folded: UnitBuffer;
  /** The current text, where it starts, and how much of it was read. */
  #nth = 0;
  #offset = 0;
  #at = 0;

  /**
   * @param folded where folded text is kept; no other reading may use it meanwhile
   * @param unitsAtOnce how many units a step reads; the last character may fold to more
   * @param seams where the texts touch: numbers and addresses continue there, and every match may start or end there. A text is
   * folded alone, so that a mark at the start of the next one does not change its last letter
   * @param areBlanks whether keywords of several words are searched there, with a blank where they have one
   */
  constructor(
    texts: readonly string[],
    { pii, keywords, injected }: Scanners,
    folded: UnitBuffer,
    unitsAtOnce: number,
    seams: readonly number[] = [],
    areBlanks = false,
  ) {
    this.#texts = texts;
    this.#isTouching = seams.length > 0;
    this.#atOnce = unitsAtOnce;
    this.#pii = pii ? new PiiScan(unitsAtOnce, seams) : null;
    this.#keywords = keywords === null ? null : new KeywordFinder(keywords, this.#foundKeywords, seams, areBlanks);
    this.#injections = injected === null ? null : new InjectionFinder(injected);
    this.#folded = folded;
    folded.length = 0;
    this.#pii?.open(this.#isTouching ? texts.join("") : (texts[0] ?? ""), 0);
  }

  /** Whether all texts were read. */
  get isOver(): boolean {
    return this.#nth >= this.#texts.length;
  }

  /** Continues reading: a bounded number of units, of the texts and of their folded form. Returns the work. */
  step(): number {
    const isFolded = this.#keywords !== null || this.#injections !== null;
    const folded = this.#folded;
    const before = folded.length;
    const most = before + this.#atOnce;
    let [read, pairs] = [0, 0];
    while (read < this.#atOnce && folded.length < most && !this.isOver) {
      const from = this.#at;
      const text = this.#texts[this.#nth] ?? "";
      // characters that fold to nothing count as well
      const to = from + this.#atOnce - read;
      this.#at = isFolded ? fold(text, from, true, this.#offset, folded, most, to) : Math.min(text.length, to);
      this.#pii?.readTo(this.#isTouching ? this.#offset + this.#at : this.#at);
      read += this.#at - from + 1;
      if (isFolded) pairs += text.slice(from, this.#at).match(HIGH_HALVES)?.length ?? 0;
      if (this.#at === text.length) this.#openNext(text.length);
    }
    const units = Math.max(read, folded.length - before) + pairs * PAIR_UNITS;
    if (isFolded) this.#readFolded(before);
    return units;
  }

  /** Reads the folded units from an index on, and keeps those that patterns look back at. */
  #readFolded(before: number): void {
    const folded = this.#folded;
    collapseBlanks(folded, before);
    this.#keywords?.take(folded, before);
    if (this.isOver) this.#keywords?.readUpTo(this.#offset, true);
    this.#injections?.read(folded, this.isOver);
    const count = folded.length - (this.#injections === null ? 0 : KEPT_UNITS);
    if (count <= 0) return;
    folded.dropFirst(count);
    this.#injections?.forget(count);
  }

  /** Takes out the personal data and the keywords that are decided, and tells up to where nothing can be found any more. */
  takeFound(): { readonly pii: FoundSpans; readonly keywords: FoundSpans; readonly decided: number } {
    const otherwise = this.isOver ? Number.POSITIVE_INFINITY : this.#offset + this.#at;
    const pii = this.isOver ? otherwise : (this.#pii?.undecided ?? otherwise);
    const keywords = this.isOver ? otherwise : (this.#keywords?.undecided(otherwise) ?? otherwise);
    this.#pii?.found.sort();
    return {
      pii: this.#pii?.found.takeUpTo(pii) ?? new FoundSpans(),
      keywords: this.#foundKeywords.takeUpTo(keywords),
      decided: Math.min(pii, keywords),
    };
  }

  /** The memory taken, used or not, except for the matches. */
  get bytes(): number {
    const readers = [this.#folded, this.#pii, this.#keywords];
    return readers.reduce((sum, reader) => sum + (reader?.bytes ?? 0), 0);
  }

  /** Moves on to the next text. */
  #openNext(length: number): void {
    this.#nth += 1;
    this.#at = 0;
    this.#offset += length;
    const text = this.#texts[this.#nth];
    if (text === undefined) return;
    const width = this.#isTouching ? 0 : 1;
    if (this.#keywords !== null || this.#injections !== null)
      this.#folded.push(this.#isTouching ? SEAM : LINE_BREAK, this.#offset, this.#offset + width);
    this.#offset += width;
    if (!this.#isTouching) this.#pii?.open(text, this.#offset);
  }
}

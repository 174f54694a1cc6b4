/**
 * Replaces personal data and keywords in a text that arrives in pieces. Releases text as soon as no match can still grow
 * into it (docs/rules/guardrails.md#what-is-held-back), and for every way to cut a text it writes the same as for the whole
 * text. No character is lost or written twice.
 */
import { fold } from "./fold.ts";
import { FoundSpans } from "./found-spans.ts";
import type { KeywordTrie } from "./keyword-trie.ts";
import { KeywordFinder } from "./keywords.ts";
import { PiiFinder } from "./pii.ts";
import { type MutableCounts, replacementsOf } from "./replacements.ts";
import type { UnitBuffer } from "./unit-buffer.ts";

/** Replaces matches in texts, one after another. Each text arrives in pieces. */
export interface RedactingStream {
  /** Takes the next piece, and answers the text that no match can change any more. */
  push(text: string): string;
  /** Returns the held-back text. Later pushes belong to another text. */
  finish(): string;
  /** The memory in use for held-back text. */
  readonly bytes: number;
}

/** How many characters of a piece are looked at once. */
const AT_ONCE = 64;

/**
 * Opens a stream. A scanner that is off is given as false or null.
 * @param folded where folded text is kept during a call; any number of streams may have the same
 * @param counts where replacements are counted
 */
export function openRedactingStream(
  hasPii: boolean,
  keywords: KeywordTrie | null,
  folded: UnitBuffer,
  counts: MutableCounts,
): RedactingStream {
  const finders: readonly TextFinder[] = [
    ...(hasPii ? [new PiiInText()] : []),
    ...(keywords === null ? [] : [new KeywordsInText(keywords, folded)]),
  ];
  const [pii = null] = finders.filter((finder) => finder instanceof PiiInText);
  const [words = null] = finders.filter((finder) => finder instanceof KeywordsInText);
  /**
   * The held-back text, and where it starts in the given text. A replaced part is not held, but it is written when its end is
   * known: overlapping matches may continue without end.
   */
  let held = "";
  let offset = 0;

  const release = (last: boolean): string => {
    let decided = offset + held.length;
    for (const finder of finders) decided = Math.min(decided, finder.take(held, offset, last));
    let [out, place] = ["", offset];
    let end = decided;
    const piece = (from: number, to: number): string => (to > from ? held.slice(from - offset, to - offset) : "");
    for (const { start, end: after, scanner, text } of replacementsOf(pii?.found ?? null, words?.found ?? null)) {
      if (after > decided) {
        end = Math.min(end, start);
        for (const finder of finders) finder.found.joinWithin(start, decided);
        break;
      }
      out += piece(place, start) + text;
      counts[scanner] += 1;
      place = after;
    }
    out += piece(place, end);
    held = held.slice(decided - offset);
    offset = decided;
    for (const finder of finders) finder.forgetBefore(end);
    return out;
  };

  return {
    push: (text) => {
      let out = "";
      for (let at = 0; at < text.length; at += AT_ONCE) {
        held += text.slice(at, at + AT_ONCE);
        out += release(false);
      }
      return out;
    },
    finish: () => {
      const rest = release(true);
      for (const finder of finders) finder.reset();
      [held, offset] = ["", 0];
      return rest;
    },
    get bytes() {
      return finders.reduce((sum, finder) => sum + finder.bytes, held.length * 2);
    },
  };
}

/** One scanner on a text. `held` is the known text from `offset` on. */
interface TextFinder {
  readonly found: FoundSpans;
  /** Reads the unread part; returns the first undecided place. */
  take(held: string, offset: number, last: boolean): number;
  forgetBefore(place: number): void;
  /** Starts another text; in a text that has ended nothing is found any more. */
  reset(): void;
  /** The memory that is taken, used or not. */
  readonly bytes: number;
}

class PiiInText implements TextFinder {
  readonly found = new FoundSpans();
  readonly #finder = new PiiFinder(this.found);
  #read = 0;

  get bytes(): number {
    return this.#finder.bytes;
  }

  take(held: string, offset: number, last: boolean): number {
    this.#read = offset + this.#finder.take(held, this.#read - offset, held.length, offset, last);
    return this.#finder.undecided;
  }

  forgetBefore(place: number): void {
    this.found.forgetBefore(place);
    this.#finder.forgetDecided();
  }

  reset(): void {
    this.#finder.reset();
    this.#read = 0;
  }
}

class KeywordsInText implements TextFinder {
  readonly found = new FoundSpans();
  readonly #finder: KeywordFinder;
  readonly #folded: UnitBuffer;
  #read = 0;

  constructor(keywords: KeywordTrie, folded: UnitBuffer) {
    this.#finder = new KeywordFinder(keywords, this.found);
    this.#folded = folded;
  }

  get bytes(): number {
    return this.#finder.bytes;
  }

  take(held: string, offset: number, last: boolean): number {
    this.#folded.length = 0;
    this.#read = offset + fold(held, this.#read - offset, last, offset, this.#folded);
    this.#finder.take(this.#folded, 0);
    this.#finder.readUpTo(this.#read, last);
    return this.#finder.undecided(this.#read);
  }

  forgetBefore(place: number): void {
    this.found.forgetBefore(place);
  }

  reset(): void {
    this.#finder.reset();
    this.#read = 0;
  }
}

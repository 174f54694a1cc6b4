/**
 * Several texts as one, so that a match is found that is split over them (docs/rules/guardrails.md#split-texts). Places are
 * counted in the texts one after another, with nothing between them.
 */
import type { Steps } from "../steps.ts";

/** Work for one text, in addition to its characters. */
const TEXT_UNITS = 8;

/** A part of one of several texts, in UTF-16 units. */
export interface ScanSpan {
  /** Index in the list of texts. */
  readonly text: number;
  readonly start: number;
  readonly end: number;
}

/** Texts, or ends of texts, that touch, and where the first starts when the texts are one after another. */
interface Seams {
  readonly texts: readonly string[];
  readonly start: number;
  /** Where two of them touch, counted from `start`, in ascending order. */
  readonly seams: readonly number[];
}

/** Texts one after another. */
export class JoinedTexts {
  readonly #texts: readonly string[];
  /** Where each text starts. */
  readonly #starts: readonly number[];

  constructor(texts: readonly string[]) {
    this.#texts = texts;
    let start = 0;
    this.#starts = texts.map(({ length }) => {
      start += length;
      return start - length;
    });
  }

  /** The place for a place of the texts with a line break between two of them. */
  placeOf(index: number): number {
    // the text that contains the index, or whose preceding line break does
    const text = lastAtMost(this.#starts.length, (at) => (this.#starts[at] ?? 0) + at <= index);
    const start = this.#starts[text] ?? 0;
    return start + Math.min(index - start - text, this.#texts[text]?.length ?? 0);
  }

  /** The parts of the texts between two places. */
  spansBetween(start: number, end: number): readonly ScanSpan[] {
    const spans: ScanSpan[] = [];
    const first = lastAtMost(this.#starts.length, (at) => (this.#starts[at] ?? 0) <= start);
    for (let text = first; text < this.#texts.length && (this.#starts[text] ?? 0) < end; text++) {
      const begin = this.#starts[text] ?? 0;
      const span = {
        text,
        start: Math.max(0, start - begin),
        end: Math.min(end - begin, this.#texts[text]?.length ?? 0),
      };
      if (span.start < span.end) spans.push(span);
    }
    return spans;
  }

  /**
   * The surroundings of the places where two texts touch, without anything between the texts: at most `reach` units of a
   * long text at each of its ends. A match that is longer cannot be found there.
   */
  *seams(reach: number): Steps<readonly Seams[]> {
    const found: Seams[] = [];
    let [texts, start, length, seams]: [string[], number, number, number[]] = [[], 0, 0, []];
    const close = () => {
      if (seams.length > 0) found.push({ texts, start, seams });
    };
    for (const [at, given] of this.#texts.entries()) {
      yield TEXT_UNITS + Math.min(given.length, 2 * reach) / 8;
      if (given === "") continue;
      if (length > 0) seams.push(length);
      if (given.length <= 2 * reach) {
        if (length === 0) start = this.#starts[at] ?? 0;
        texts.push(given);
        length += given.length;
        continue;
      }
      texts.push(given.slice(0, reach));
      close();
      [texts, start, length, seams] = [
        [given.slice(-reach)],
        (this.#starts[at] ?? 0) + given.length - reach,
        reach,
        [],
      ];
    }
    close();
    return found;
  }
}

/** Whether one of the ascending places is at two others, or between them. */
export function hasWithin(places: readonly number[], first: number, last: number): boolean {
  const at = lastAtMost(places.length, (index) => (places[index] ?? 0) <= last);
  const place = places[at] ?? Number.POSITIVE_INFINITY;
  return place >= first && place <= last;
}

/** The last index below `count` for which a predicate holds that holds up to some index; 0 if it holds for none. */
function lastAtMost(count: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, count - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

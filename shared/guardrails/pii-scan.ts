/**
 * Finds personal data in texts of which most have none: only the parts are compared in which there is an at sign, or as many
 * digits as the shortest number has. The parts are cut where no match can continue, so searching them alone finds the same as
 * searching the whole text. Holds a bounded number of characters, and reads each a bounded number of times.
 */
import { ignorableLength } from "./fold.ts";
import { FoundSpans, MAX_GAP } from "./found-spans.ts";
import { MAX_LOCAL, PiiFinder } from "./pii.ts";

/**
 * The class of a character: in no match, in addresses only, in numbers only, in both; and the characters of both that a match
 * must have. Invisible characters may be anywhere in a match.
 */
const [OUTSIDE, ADDRESS, NUMBER, BOTH, UNSEEN, PLUS, DIGIT, SIGN] = [0, 1, 2, 3, 4, 5, 6, 7];

/** Fewer digits are not a number: US social security numbers have nine, others that start with a plus sign have eight. */
const [MIN_DIGITS, MIN_DIGITS_WITH_PLUS] = [9, 8];

/** How far before a sign or digit a match starts at most: a local part, with unseen characters before each of its own. */
const MAX_BEFORE = (MAX_LOCAL + 1) * (MAX_GAP + 1);

const KINDS = Uint8Array.from({ length: 128 }, (_, unit) => {
  const character = String.fromCharCode(unit);
  if (/\d/.test(character)) return DIGIT;
  if (character === "@") return SIGN;
  if (character === "+") return PLUS;
  if (/[.-]/.test(character)) return BOTH;
  if (/[ ()]/.test(character)) return NUMBER;
  return /[A-Za-z_%]/.test(character) ? ADDRESS : OUTSIDE;
});

/** By kind: the kinds, as bits, of which a character ends every match with one of this kind before it. */
const CUTS = [OUTSIDE, ADDRESS, NUMBER, BOTH, UNSEEN, PLUS, DIGIT, SIGN].map((before, _, kinds) =>
  kinds
    .filter((behind) => isApart(before, behind) || isApart(behind, before))
    .reduce((bits, kind) => bits | (1 << kind), 0),
);

function isApart(one: number, other: number): boolean {
  return one === OUTSIDE || (one === NUMBER && (other === ADDRESS || other === SIGN));
}

function kindAt(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  if (unit < 128) return KINDS[unit] ?? OUTSIDE;
  const isLow = unit >= 0xdc00 && unit <= 0xdfff;
  if (ignorableLength(text, index) > 0 || (isLow && ignorableLength(text, index - 1) === 2)) return UNSEEN;
  return OUTSIDE;
}

/** Whether no match continues from a character of one kind to the next one of another. */
function isCut(before: number, behind: number): boolean {
  return ((CUTS[before] ?? 0) & (1 << behind)) !== 0;
}

/** Reads one text after another; no match goes from one to the next. */
export class PiiScan {
  /** The matches, in the order of the texts, except for the undecided part. */
  readonly found = new FoundSpans();
  readonly #finder: PiiFinder;
  readonly #atOnce: number;
  #text = "";
  /** Where the text starts, in the places that are found. */
  #offset = 0;
  /** The text is read up to here: anything that starts earlier, and is not in the part that is compared, is not a match. */
  #at = 0;
  /** Where the last part ended that was looked at. */
  #settled = 0;
  /** Whether a part is being compared. */
  #isComparing = false;

  /**
   * @param atOnce how many characters are compared at once
   * @param seams where texts touch in the one text that is read
   */
  constructor(atOnce: number, seams: readonly number[]) {
    this.#atOnce = atOnce;
    this.#finder = new PiiFinder(this.found, seams);
  }

  /** Starts a text; the one before was read to its end. */
  open(text: string, offset: number): void {
    this.#text = text;
    this.#offset = offset;
    [this.#at, this.#settled] = [0, 0];
  }

  /** Reads the text up to an index, and maybe on. */
  readTo(limit: number): void {
    while (this.#at < limit) {
      if (this.#isComparing) this.#compare(Math.min(limit, this.#at + this.#atOnce));
      else this.#look(limit);
    }
  }

  /** The first undecided place at which a match could start. */
  get undecided(): number {
    if (this.#isComparing) return this.#finder.undecided;
    return this.#offset + Math.max(this.#settled, this.#at - MAX_BEFORE);
  }

  /** The memory that is taken for characters, used or not. */
  get bytes(): number {
    return this.#finder.bytes;
  }

  /** Looks for a part that may have a match; checks it as a whole, wherever it ends. */
  #look(limit: number): void {
    const text = this.#text;
    let index = this.#at;
    while (index < limit) {
      const unit = text.charCodeAt(index);
      if (unit < 128 && (KINDS[unit] ?? OUTSIDE) >= PLUS) break;
      index += 1;
    }
    this.#at = index;
    if (index >= limit) return;

    let [digits, hasPlus, hasSign] = [0, false, false];
    const first = index;
    for (let before = kindAt(text, index); ; ) {
      if (before === DIGIT) digits += 1;
      else if (before === PLUS) hasPlus = true;
      else if (before === SIGN) hasSign = true;
      if (hasSign || digits >= (hasPlus ? MIN_DIGITS_WITH_PLUS : MIN_DIGITS)) {
        this.#finder.reset();
        [this.#isComparing, this.#at] = [true, this.#startOf(first)];
        return;
      }
      index += 1;
      if (index === text.length) break;
      const behind = kindAt(text, index);
      if (isCut(before, behind)) break;
      before = behind;
    }
    [this.#at, this.#settled] = [index, index];
  }

  /** Where the part starts that the character at an index belongs to. */
  #startOf(index: number): number {
    let [start, behind] = [index, kindAt(this.#text, index)];
    while (start > this.#settled) {
      const before = kindAt(this.#text, start - 1);
      if (isCut(before, behind)) break;
      [start, behind] = [start - 1, before];
    }
    return start;
  }

  #compare(limit: number): void {
    const text = this.#text;
    const from = this.#at;
    let to = from + 1;
    let before = kindAt(text, from);
    for (; to < limit; to++) {
      const kind = kindAt(text, to);
      if (isCut(before, kind)) break;
      before = kind;
    }
    const isEnd = to === text.length || isCut(before, kindAt(text, to));
    this.#at = this.#finder.take(text, from, to, this.#offset, isEnd);
    this.#finder.forgetDecided();
    if (!isEnd) return;
    this.#isComparing = false;
    this.#settled = this.#at;
  }
}

/**
 * Finds personal data: credit card numbers, social security numbers of the USA, e-mail addresses, phone numbers
 * (docs/rules/guardrails.md#personal-data). The labels are searched in this order, and text that one has found is not part of a
 * later match. Each label goes over the text once and looks ahead a bounded number of characters, so the work is linear. Works
 * on a text that arrives in pieces: nothing is decided that later text could change.
 */
import { ignorableLength } from "./fold.ts";
import { type FoundSpans, MAX_GAP } from "./found-spans.ts";
import { hasWithin } from "./joined-texts.ts";
import { UnitBuffer } from "./unit-buffer.ts";

/** The labels, in the order in which they are searched. */
export const PII_LABELS = ["CREDIT_CARD", "SSN", "EMAIL", "PHONE"] as const;
const [CARD, SSN, EMAIL, PHONE] = [0, 1, 2, 3];

/** The longest local part of an e-mail address and the longest domain that are compared. */
export const MAX_LOCAL = 64;
const MAX_DOMAIN = 253;
const MIN_CARD_DIGITS = 13;
const MAX_CARD_DIGITS = 19;
const MAX_TOP_LEVEL = 24;

/** Placeholder for text that an earlier label has found. No label's pattern has it. */
const TAKEN = 0xffff;
/** No match starts here; and: that depends on text that is still to come. */
const NONE = -1;
const UNKNOWN = -2;

/** How much is forgotten at once: forgetting takes time in proportion to the kept part. */
const FORGOTTEN_AT_ONCE = 512;

const GIT = Array.from("git", (character) => character.charCodeAt(0));

const [PLUS, DASH, DOT, SPACE, AT, OPEN, CLOSE] = [43, 45, 46, 32, 64, 40, 41];

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57;
}

function isLetter(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 65 && unit <= 90);
}

function isLocal(unit: number): boolean {
  // . _ % + -
  return (
    isLetter(unit) || isDigit(unit) || unit === DOT || unit === 95 || unit === 37 || unit === PLUS || unit === DASH
  );
}

function isPhoneSeparator(unit: number): boolean {
  return unit === SPACE || unit === DOT || unit === DASH;
}

/** Finds personal data in one text. */
export class PiiFinder {
  readonly #found: FoundSpans;
  /** Where texts touch: a number may start or end there, even with a digit on the other side. */
  readonly #seams: readonly number[];
  /** The text without characters that are not seen. */
  readonly #seen = new UnitBuffer(0);
  /** Where a number can start: a digit after another character, a plus sign, a bracket. */
  #numbers: number[] = [];
  /** The signs of e-mail addresses. */
  #signs: number[] = [];
  /** For each label the first of its places in `#numbers` or `#signs` that is not decided. */
  readonly #nexts: number[] = [0, 0, 0, 0];
  /** For each label the first index that it has not decided. No label is ahead of the one before it. */
  readonly #cursors: number[] = [0, 0, 0, 0];
  /** Up to where digits were looked at that make no card, in the given text. */
  #noCardTo = 0;
  /** How much of the given text was taken. */
  #taken = 0;
  /** How many characters in a row were not seen, up to now. */
  #unseen = 0;
  /** What the label that is looking may read, whether the text ends there, and whether it wanted to read more. */
  #limit = 0;
  #last = false;
  #wantedMore = false;
  /** Whether the last number of a card that was looked at has the sum of one. */
  #isValid = false;

  constructor(found: FoundSpans, seams: readonly number[] = []) {
    this.#found = found;
    this.#seams = seams;
  }

  /**
   * Takes a piece of the given text from the index `from` on, which was not taken before, to the index `to`, and decides what
   * can be decided. `offset` is where the piece starts in the given text. Returns how far it took the piece: without `last`,
   * half of a surrogate pair at its end is left.
   */
  take(piece: string, from: number, to: number, offset: number, last: boolean): number {
    const after = this.#read(piece, from, to, offset, last);
    this.#taken = offset + after;
    this.#last = last;
    this.#limit = this.#seen.length;
    for (let label = 0; label < PII_LABELS.length; label++) {
      const cursor = label === EMAIL ? this.#findEmails() : this.#findNumbers(label);
      this.#cursors[label] = cursor;
      this.#limit = cursor;
    }
    return after;
  }

  /** The first undecided place of the given text at which a match could start. */
  get undecided(): number {
    const cursor = this.#cursors[PHONE] ?? 0;
    return cursor < this.#seen.length ? this.#seen.startOf(cursor) : this.#taken;
  }

  /** The memory that is taken for characters, used or not. */
  get bytes(): number {
    return this.#seen.bytes;
  }

  /** Starts another text. */
  reset(): void {
    this.#seen.length = 0;
    this.#unseen = 0;
    [this.#numbers, this.#signs] = [[], []];
    this.#nexts.fill(0);
    this.#cursors.fill(0);
  }

  /** Forgets what no decision needs any more. */
  forgetDecided(): void {
    // the character before is looked at
    const count = (this.#cursors[PHONE] ?? 0) - 1;
    if (count < FORGOTTEN_AT_ONCE) return;
    this.#seen.dropFirst(count);
    const numbers = Math.min(this.#nexts[CARD] ?? 0, this.#nexts[SSN] ?? 0, this.#nexts[PHONE] ?? 0);
    const signs = this.#nexts[EMAIL] ?? 0;
    this.#numbers = this.#numbers.slice(numbers).map((index) => index - count);
    this.#signs = this.#signs.slice(signs).map((index) => index - count);
    for (let label = 0; label < PII_LABELS.length; label++) {
      this.#nexts[label] = (this.#nexts[label] ?? 0) - (label === EMAIL ? signs : numbers);
      this.#cursors[label] = (this.#cursors[label] ?? 0) - count;
    }
  }

  #read(piece: string, from: number, to: number, offset: number, last: boolean): number {
    const seen = this.#seen;
    seen.reserve(to - from);
    const { units, starts, ends } = seen;
    let length = seen.length;
    let isAfterDigit = length > 0 && isDigit(units[length - 1] ?? 0);
    let index = from;
    for (; index < to; index++) {
      const unit = piece.charCodeAt(index);
      if (unit < 0xad) this.#unseen = 0;
      else {
        if (unit >= 0xd800 && unit <= 0xdbff && !last && index + 1 === piece.length) break;
        const ignorable = ignorableLength(piece, index);
        this.#unseen = ignorable === 0 ? 0 : this.#unseen + ignorable;
        if (ignorable > 0 && this.#unseen <= MAX_GAP) {
          index += ignorable - 1;
          continue;
        }
      }
      const isNumeric = unit < 58 && unit >= 48;
      isAfterDigit &&= !this.#hasSeam(ends[length - 1] ?? 0, offset + index);
      if ((isNumeric && !isAfterDigit) || unit === PLUS || unit === OPEN) this.#numbers.push(length);
      else if (unit === AT) this.#signs.push(length);
      isAfterDigit = isNumeric;
      units[length] = unit;
      starts[length] = offset + index;
      ends[length] = offset + index + 1;
      length += 1;
    }
    seen.length = length;
    return index;
  }

  #claim(label: number, start: number, end: number): void {
    this.#found.add(label, this.#seen.startOf(start), this.#seen.endOf(end - 1));
    // the last label's own look-behind sees the unchanged text
    if (label !== PHONE) this.#seen.units.fill(TAKEN, start, end);
  }

  #at(index: number): number {
    if (index < this.#limit) return this.#seen.at(index);
    this.#wantedMore = true;
    return NONE;
  }

  #hasSeam(first: number, last: number): boolean {
    return this.#seams.length > 0 && hasWithin(this.#seams, first, last);
  }

  /** Whether two texts touch before a character. */
  #isSeam(index: number): boolean {
    return (
      index > 0 && index < this.#seen.length && this.#hasSeam(this.#seen.endOf(index - 1), this.#seen.startOf(index))
    );
  }

  /** Whether a match between two indices counts: in digits that make no card, only one over the border of texts does. */
  #counts(start: number, end: number): boolean {
    const [from, to] = [this.#seen.startOf(start), this.#seen.endOf(end - 1)];
    return this.#seams.length === 0 || from >= this.#noCardTo || this.#hasSeam(from + 1, to - 1);
  }

  /** Whether the digits of a number continue at an index. */
  #goesOn(index: number): boolean {
    return isDigit(this.#at(index)) && !this.#isSeam(index);
  }

  #findNumbers(label: number): number {
    let decided = this.#cursors[label] ?? 0;
    let next = this.#nexts[label] ?? 0;
    for (; next < this.#numbers.length; next++) {
      const index = this.#numbers[next] ?? 0;
      if (index >= this.#limit) break;
      // within the match before, or within that of an earlier label
      if (index < decided || this.#seen.at(index) === TAKEN) continue;
      this.#wantedMore = false;
      const end = this.#numberEnd(label, index);
      if (this.#wantedMore && !this.#last) {
        this.#nexts[label] = next;
        return index;
      }
      if (end === NONE) continue;
      const isMatch = (label !== CARD || this.#isValid) && this.#counts(index, end);
      if (isMatch) this.#claim(label, index, end);
      // over the border of texts, the digits of one are no reason to pass over the number in the next
      if (isMatch || this.#seams.length === 0) decided = end;
      else this.#noCardTo = Math.max(this.#noCardTo, this.#seen.endOf(end - 1));
    }
    this.#nexts[label] = next;
    return this.#limit;
  }

  #numberEnd(label: number, start: number): number {
    if (label === PHONE)
      return this.#phoneEnd(start, start === 0 || this.#isSeam(start) ? NONE : this.#seen.at(start - 1));
    if (!isDigit(this.#at(start))) return NONE;
    return label === CARD ? this.#cardEnd(start) : this.#ssnEnd(start);
  }

  /**
   * The longest run of 13 to 19 digits, single spaces or dashes between them, that no digit follows, or that is valid where a
   * text ends.
   */
  #cardEnd(start: number): number {
    let [index, end, endOfText] = [start, NONE, NONE];
    // of the digits with every second one doubled, from the last one back, and of the others doubled
    let [sum, otherSum] = [0, 0];
    this.#isValid = false;
    for (let digits = 1; digits <= MAX_CARD_DIGITS; digits++) {
      const unit = this.#at(index);
      const isApart = digits > 1 && (unit === SPACE || unit === DASH);
      const digit = (isApart ? this.#at(index + 1) : unit) - 48;
      if (digit < 0 || digit > 9) break;
      index += isApart ? 2 : 1;
      const before = sum;
      sum = otherSum + digit;
      otherSum = before + digit * 2 - (digit > 4 ? 9 : 0);
      if (digits < MIN_CARD_DIGITS) continue;
      if (sum % 10 === 0 && this.#isSeam(index)) endOfText = index;
      if (isDigit(this.#at(index))) continue;
      end = index;
      this.#isValid = sum % 10 === 0;
    }
    if (this.#isValid || endOfText === NONE) return end;
    this.#isValid = true;
    return endOfText;
  }

  #ssnEnd(start: number): number {
    const area = this.#digits(start, 3);
    if (area === NONE || area === 0 || area === 666 || area >= 900 || this.#at(start + 3) !== DASH) return NONE;
    const group = this.#digits(start + 4, 2);
    if (group === NONE || group === 0 || this.#at(start + 6) !== DASH) return NONE;
    const serial = this.#digits(start + 7, 4);
    return serial === NONE || serial === 0 || this.#goesOn(start + 11) ? NONE : start + 11;
  }

  /** The number that `count` digits make; NONE when there are fewer. */
  #digits(start: number, count: number): number {
    let value = 0;
    for (let index = start; index < start + count; index++) {
      const unit = this.#at(index);
      if (!isDigit(unit)) return NONE;
      value = value * 10 + unit - 48;
    }
    return value;
  }

  #phoneEnd(start: number, before: number): number {
    if (isDigit(before)) return NONE;
    if (this.#at(start) !== PLUS) return before === PLUS ? NONE : this.#nationalEnd(start);
    let [digits, atSeam] = [0, NONE];
    while (digits < 16 && isDigit(this.#at(start + 1 + digits))) {
      digits += 1;
      const end = start + 1 + digits;
      if (digits >= 8 && digits <= 15 && this.#isSeam(end)) atSeam = end;
    }
    if (before !== PLUS) {
      for (let prefix = Math.min(3, digits); prefix > 0; prefix--) {
        const next = start + 1 + prefix;
        const spaced = isPhoneSeparator(this.#at(next)) ? this.#nationalEnd(next + 1) : NONE;
        const end = spaced === NONE ? this.#nationalEnd(next) : spaced;
        if (end !== NONE) return end;
      }
    }
    return digits >= 8 && digits <= 15 ? start + 1 + digits : atSeam;
  }

  /** Three digits, with or without brackets, three and four, with separators. */
  #nationalEnd(start: number): number {
    const bracket = this.#at(start) === OPEN ? 1 : 0;
    if (this.#digits(start + bracket, 3) === NONE) return NONE;
    if (bracket === 1 && this.#at(start + 4) !== CLOSE) return NONE;
    const exchange = start + 3 + 2 * bracket;
    if (!isPhoneSeparator(this.#at(exchange)) || this.#digits(exchange + 1, 3) === NONE) return NONE;
    if (!isPhoneSeparator(this.#at(exchange + 4)) || this.#digits(exchange + 5, 4) === NONE) return NONE;
    return this.#goesOn(exchange + 9) ? NONE : exchange + 9;
  }

  #findEmails(): number {
    let decided = this.#cursors[EMAIL] ?? 0;
    let next = this.#nexts[EMAIL] ?? 0;
    for (; next < this.#signs.length; next++) {
      const sign = this.#signs[next] ?? 0;
      if (sign >= this.#limit) break;
      if (sign < decided || this.#seen.at(sign) === TAKEN) continue;
      const start = this.#localStart(decided, sign);
      if (start === sign || this.#isGit(start, sign)) continue;
      const end = this.#domainEnd(sign + 1);
      if (end === UNKNOWN) {
        this.#nexts[EMAIL] = next;
        return start;
      }
      if (end === NONE) continue;
      this.#claim(EMAIL, start, end);
      decided = end;
    }
    this.#nexts[EMAIL] = next;
    return this.#last ? this.#limit : this.#localStart(decided, this.#limit);
  }

  /** The name for logging in to version control servers, as in `git@host:path`: nobody's address. */
  #isGit(start: number, sign: number): boolean {
    if (sign - start !== GIT.length || isLocal(this.#seen.at(start - 1))) return false;
    return GIT.every((unit, at) => this.#seen.at(start + at) === unit);
  }

  /** Where the local part starts that ends at a place. */
  #localStart(least: number, end: number): number {
    let start = end;
    while (start > least && end - start < MAX_LOCAL && isLocal(this.#seen.at(start - 1))) start -= 1;
    return start;
  }

  /**
   * The end of the longest domain: labels of letters, digits and dashes, where a label after the first starts with two letters;
   * up to 24 of those belong to the match.
   */
  #domainEnd(start: number): number {
    let [end, label, letters, isFirst] = [NONE, 0, 0, true];
    for (let index = start; index < start + MAX_DOMAIN; index++) {
      if (index >= this.#limit) return this.#last ? end : UNKNOWN;
      const unit = this.#seen.at(index);
      if (unit === DOT) {
        if (label === 0) return end;
        [label, letters, isFirst] = [0, 0, false];
        continue;
      }
      if (!isLetter(unit) && !isDigit(unit) && unit !== DASH) return end;
      // only letters up to now
      if (isLetter(unit) && letters === label && letters < MAX_TOP_LEVEL) {
        letters += 1;
        if (!isFirst && letters >= 2) end = index + 1;
      }
      label += 1;
    }
    return end;
  }
}

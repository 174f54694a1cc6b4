/**
 * A JSON object whose text comes in pieces. A piece that cannot be part of one is known at once: clients parse what they have
 * after every piece.
 */
import type { Steps } from "../../../../shared/steps.ts";

const STEP_CHARACTERS = 4096;
/** What no arguments need: deeper objects, and longer numbers. */
const DEPTH_MAX = 512;
const WORD_MAX_CHARACTERS = 1024;

/** What may come next; the first of a list or an object may be its end instead. */
type Next = "value" | "first value" | "name" | "first name" | "colon" | "comma";

const BLANKS = /[ \t\n\r]*/y;
const WORD = /[-+.\w]+/y;
const LITERALS = ["true", "false", "null"];
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const NUMBER_START = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*|(?:\.\d+)?[eE][-+]?\d*)?)?$/;
/** Characters from the space on, and escapes. */
const IN_STRING = /(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*/y;
const ESCAPE_START = /^\\(?:u[\da-fA-F]{0,3})?$/;

export class ObjectText {
  /** The closing brackets of what is open, the innermost last. */
  readonly #ends: ("}" | "]")[] = [];
  #next: Next = "value";
  /** The token after the open string; null: none is open. */
  #afterString: "colon" | "comma" | null = null;
  /** A number, a word or an escape that may not be complete. */
  #rest = "";
  #isStarted = false;
  #isWrong = false;

  /** More than white space has come. */
  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** Whatever follows, it cannot become an object. */
  get isWrong(): boolean {
    return this.#isWrong;
  }

  get isWhole(): boolean {
    return this.#isStarted && !this.#isWrong && this.#ends.length === 0;
  }

  *push(text: string): Steps<void> {
    for (let at = 0; at < text.length; at += STEP_CHARACTERS) {
      const piece = text.slice(at, at + STEP_CHARACTERS);
      this.#push(this.#rest + piece);
      yield piece.length;
    }
  }

  #push(text: string): void {
    this.#rest = "";
    for (let at = 0; at < text.length && !this.#isWrong; ) {
      at = endOf(this.#afterString === null ? BLANKS : IN_STRING, text, at);
      if (at === text.length) return;
      const wordEnd = this.#afterString === null ? endOf(WORD, text, at) : at;
      if (wordEnd > at) this.#word(text.slice(at, wordEnd), wordEnd === text.length);
      else if (this.#afterString !== null && ESCAPE_START.test(text.slice(at))) {
        this.#rest = text.slice(at);
        return;
      } else this.#mark(text[at] ?? "");
      at = Math.max(at + 1, wordEnd);
    }
  }

  #word(word: string, mayContinue: boolean): void {
    this.#isWrong ||= !this.#isStarted || !this.#isValueNext || word.length > WORD_MAX_CHARACTERS;
    if (mayContinue) {
      this.#isWrong ||= !NUMBER_START.test(word) && !LITERALS.some((literal) => literal.startsWith(word));
      this.#rest = word;
      return;
    }
    this.#isWrong ||= !NUMBER.test(word) && !LITERALS.includes(word);
    this.#next = "comma";
  }

  #mark(mark: string): void {
    const end = this.#ends.at(-1);
    const isFirst = this.#next === (end === "}" ? "first name" : "first value");
    if (this.#afterString !== null) {
      this.#isWrong = mark !== '"';
      this.#next = this.#afterString;
      this.#afterString = null;
    } else if (mark === end && (this.#next === "comma" || isFirst)) {
      this.#ends.pop();
      this.#next = "comma";
    } else if (mark === "{" && this.#isValueNext) this.#open("}", "first name");
    else if (mark === "[" && this.#isValueNext && this.#isStarted) this.#open("]", "first value");
    else if (mark === '"' && this.#isStarted && this.#next !== "colon" && this.#next !== "comma")
      this.#afterString = this.#isValueNext ? "comma" : "colon";
    else if (mark === ":" && this.#next === "colon") this.#next = "value";
    else if (mark === "," && this.#next === "comma" && end !== undefined) this.#next = end === "}" ? "name" : "value";
    else this.#isWrong = true;
    this.#isStarted = true;
  }

  get #isValueNext(): boolean {
    return this.#next === "value" || this.#next === "first value";
  }

  #open(end: "}" | "]", next: Next): void {
    this.#isWrong = this.#ends.push(end) > DEPTH_MAX;
    this.#next = next;
  }
}

/** Where what `pattern` matches at `at` ends. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

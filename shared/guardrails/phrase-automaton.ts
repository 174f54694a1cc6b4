/**
 * A deterministic automaton that finds phrases from a given place of a text. Its states are made when they are first met and
 * kept: there are finitely many, some thousand, because gaps between phrases are no part of it.
 */
import { SEAM } from "./fold.ts";
import { ANY_WHITE_SPACE, type PhraseState, readPhrases } from "./phrase-syntax.ts";

/** Classes of units that no phrase names: others, letters and digits, white space; the end of the text, and where two touch. */
const [OTHER, WORD, BLANK, END, TOUCH] = [0, 1, 2, 3, 4];
const FIRST_NAMED = 5;
/** Placeholder for a state that is not made yet. */
const UNKNOWN = -1;

/** White space of a folded text after basic Latin: all other white space is folded to a space, or left out. */
const WIDE_BLANKS = ["\u1680", "\u2028", "\u2029"];

const IS_WORD = /\w/;
const IS_BLANK = /\s/;

/** What is before the first character that is read. */
type Before = "start" | "word" | "other" | "touch";

/** No character leads on. */
export const DEAD = 0;

/** The automaton of a list of phrases, each of two characters at least. */
export class PhraseAutomaton {
  /** The state at the start of a text, after a letter or digit, and after anything else. */
  readonly fromStart: number;
  readonly fromWord: number;
  readonly fromOther: number;
  readonly #states: readonly PhraseState[];
  readonly #classes = new Uint8Array(0x1_0000);
  /** By class: the named character, or the representative of the class in a set of characters. */
  readonly #characters: string[] = ["", "", ANY_WHITE_SPACE, "", ANY_WHITE_SPACE];
  /** By class: 1 when its units are letters or digits. */
  readonly #wordClasses = new Uint8Array(128 + FIRST_NAMED);
  /** By whether a letter or digit precedes, and two classes: the state after these. */
  readonly #begins: Int16Array;
  readonly #numbers = new Map<string, number>();
  readonly #members: { readonly states: readonly number[]; readonly before: Before }[] = [];
  /** By state and class: the next state, or -1 when it is not made yet. */
  #next = new Int16Array(0);
  /** By state and class: the number of the list of phrases that end before the character; 0 is the empty one. */
  #ended = new Int16Array(0);
  readonly #lists: (readonly number[])[] = [[]];

  constructor(phrases: readonly string[]) {
    const { states, starts } = readPhrases(phrases);
    this.#states = states;
    this.#nameClasses();
    this.#begins = new Int16Array(2 * this.#characters.length ** 2).fill(UNKNOWN);
    this.#number([], "other");
    this.fromStart = this.#number(starts, "start");
    this.fromWord = this.#number(starts, "word");
    this.fromOther = this.#number(starts, "other");
  }

  /** The class of a folded unit. */
  classOf(unit: number): number {
    return this.#classes[unit] ?? OTHER;
  }

  /**
   * The first index, from one index on and before another, at which a phrase can start, going by the unit before it and its
   * first three units; `end` if there is none. There are units before `from` and up to two places after `end`.
   */
  nextBegin(units: Uint16Array, from: number, end: number): number {
    const [classes, words, begins, size] = [this.#classes, this.#wordClasses, this.#begins, this.#characters.length];
    let before = words[classes[units[from - 1] ?? 0] ?? 0] ?? 0;
    let first = classes[units[from] ?? 0] ?? 0;
    let second = classes[units[from + 1] ?? 0] ?? 0;
    for (let index = from; index < end; index++) {
      const third = classes[units[index + 2] ?? 0] ?? 0;
      const place = (before * size + first) * size + second;
      const state = begins[place] ?? DEAD;
      if (state !== DEAD && this.#goesOn(state === UNKNOWN ? this.#begin(place) : state, third)) return index;
      before = words[first] ?? 0;
      first = second;
      second = third;
    }
    return end;
  }

  /** The class of the end of a text. */
  get endClass(): number {
    return END;
  }

  /** Whether units of a class are letters or digits. */
  isWordClass(unitClass: number): boolean {
    return this.#wordClasses[unitClass] === 1;
  }

  /** The state after one more character; DEAD when no phrase continues. */
  next(state: number, unitClass: number): number {
    const at = state * this.#characters.length + unitClass;
    const known = this.#next[at] ?? -1;
    return known === -1 ? this.#make(state, unitClass, at) : known;
  }

  /** The phrases that end before a character of this class. Call `next` first. */
  endedBefore(state: number, unitClass: number): readonly number[] | undefined {
    const list = this.#ended[state * this.#characters.length + unitClass] ?? 0;
    return list === 0 ? undefined : this.#lists[list];
  }

  /** The state for a place of `#begins`. */
  #begin(place: number): number {
    const size = this.#characters.length;
    const [pair, second] = [Math.floor(place / size), place % size];
    const state = this.next(this.next(pair >= size ? this.fromWord : this.fromOther, pair % size), second);
    this.#begins[place] = state;
    return state;
  }

  /** Whether a phrase continues from a state, or ends there. */
  #goesOn(state: number, unitClass: number): boolean {
    if (state === DEAD) return false;
    return this.next(state, unitClass) !== DEAD || this.endedBefore(state, unitClass) !== undefined;
  }

  #nameClasses(): void {
    this.#wordClasses[WORD] = 1;
    this.#classes[SEAM] = TOUCH;
    for (const blank of WIDE_BLANKS) this.#classes[blank.charCodeAt(0)] = BLANK;
    const named = new Set(this.#states.flatMap((state) => (state.kind === "read" ? [...state.characters] : [])));
    named.delete(ANY_WHITE_SPACE);
    for (let unit = 0; unit < 128; unit++) {
      const character = String.fromCharCode(unit);
      this.#classes[unit] = IS_WORD.test(character) ? WORD : IS_BLANK.test(character) ? BLANK : OTHER;
      if (!named.has(character)) continue;
      this.#classes[unit] = this.#characters.push(character) - 1;
      this.#wordClasses[this.#characters.length - 1] = Number(IS_WORD.test(character));
    }
  }

  #number(states: readonly number[], before: Before): number {
    const sorted = [...new Set(states)].sort((a, b) => a - b);
    const key = sorted.length === 0 ? "" : `${before} ${sorted.join(" ")}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#members.push({ states: sorted, before }) - 1;
    this.#numbers.set(key, number);
    const size = this.#members.length * this.#characters.length;
    if (size > this.#next.length)
      [this.#next, this.#ended] = [grown(this.#next, size, -1), grown(this.#ended, size, 0)];
    return number;
  }

  #make(state: number, unitClass: number, at: number): number {
    const { states, before } = this.#members[state] ?? { states: [], before: "other" };
    const isWord = this.isWordClass(unitClass);
    const isTouch = unitClass === TOUCH;
    const reached = this.#reach(states, before, isWord, isTouch);
    const ended: number[] = [];
    const after: number[] = [];
    for (const id of reached) {
      const found = this.#states[id];
      if (found?.kind === "accept") ended.push(found.phrase);
      if (found?.kind !== "read") continue;
      if (this.#reads(found.characters, unitClass)) after.push(found.next);
      // a model may read nothing there
      if (isTouch) after.push(id);
    }
    const next = after.length === 0 ? DEAD : this.#number(after, isTouch ? "touch" : isWord ? "word" : "other");
    this.#next[at] = next;
    this.#ended[at] = ended.length === 0 ? 0 : this.#lists.push(ended) - 1;
    return next;
  }

  /** All states that can be reached without reading, when the kinds of the characters before and after are known. */
  #reach(states: readonly number[], before: Before, isWord: boolean, isTouch: boolean): ReadonlySet<number> {
    const isLimit = isTouch || before === "touch" || (before === "word") !== isWord;
    const reached = new Set(states);
    for (const id of reached) {
      const state = this.#states[id];
      if (state?.kind === "split") for (const next of state.next) reached.add(next);
      if (state?.kind === "start" && before === "start") reached.add(state.next);
      if (state?.kind === "boundary" && isLimit) reached.add(state.next);
    }
    return reached;
  }

  #reads(characters: ReadonlySet<string>, unitClass: number): boolean {
    const character = this.#characters[unitClass] ?? "";
    if (unitClass === TOUCH && characters.has(" ")) return true;
    if (unitClass >= FIRST_NAMED && characters.has(character)) return true;
    const isBlank = unitClass === BLANK || unitClass === TOUCH;
    return characters.has(ANY_WHITE_SPACE) && (isBlank || (unitClass >= FIRST_NAMED && IS_BLANK.test(character)));
  }
}

function grown(table: Int16Array<ArrayBuffer>, size: number, fill: number): Int16Array<ArrayBuffer> {
  const wider = new Int16Array(size * 2).fill(fill);
  wider.set(table);
  return wider;
}

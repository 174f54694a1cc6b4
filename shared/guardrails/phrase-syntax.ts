/**
 * Reads the parts of patterns as a non-deterministic automaton. The syntax is a small part of that of regular expressions:
 * characters, `\` before a character that has a meaning, `[ab]`, `\s`, `(?:a|b)`, `?`, `*`, `+`, `^` at the start of the text,
 * `\b` where a word starts or ends.
 */

/** A state of the automaton: it reads one character of a set, or continues without reading. */
export type PhraseState =
  | { readonly kind: "read"; readonly characters: ReadonlySet<string>; readonly next: number }
  | { readonly kind: "split"; readonly next: readonly number[] }
  | { readonly kind: "boundary" | "start"; readonly next: number }
  | { readonly kind: "accept"; readonly phrase: number };

/** Represents every white space character in a set of characters. */
export const ANY_WHITE_SPACE = "\\s";

/** Adds states that lead to the state `next`, and answers the first of them. */
type Build = (next: number) => number;

/** The states of all phrases, and the first state of each. */
export function readPhrases(phrases: readonly string[]): {
  readonly states: readonly PhraseState[];
  readonly starts: readonly number[];
} {
  const states: PhraseState[] = [];
  const add = (state: PhraseState): number => states.push(state) - 1;
  const starts = phrases.map((phrase, index) =>
    new Reader(phrase, states).all()(add({ kind: "accept", phrase: index })),
  );
  return { states, starts };
}

class Reader {
  readonly #source: string;
  readonly #states: PhraseState[];
  #at = 0;

  constructor(source: string, states: PhraseState[]) {
    this.#source = source;
    this.#states = states;
  }

  all(): Build {
    const build = this.#alternatives();
    if (this.#at < this.#source.length) throw new Error(`phrase: unexpected ${this.#source.slice(this.#at)}`);
    return build;
  }

  #alternatives(): Build {
    const builds = [this.#sequence()];
    while (this.#skip("|")) builds.push(this.#sequence());
    const [only] = builds;
    if (only !== undefined && builds.length === 1) return only;
    return (next) => this.#add({ kind: "split", next: builds.map((build) => build(next)) });
  }

  #sequence(): Build {
    const builds: Build[] = [];
    while (this.#at < this.#source.length && !this.#sees("|") && !this.#sees(")")) builds.push(this.#repeated());
    return (next) => builds.reduceRight((after, build) => build(after), next);
  }

  #repeated(): Build {
    const build = this.#atom();
    if (this.#skip("?")) return (next) => this.#add({ kind: "split", next: [build(next), next] });
    if (this.#skip("*")) return (next) => this.#loop(build, next);
    if (this.#skip("+")) return (next) => build(this.#loop(build, next));
    return build;
  }

  #loop(build: Build, next: number): number {
    const ways = [next];
    const state = this.#add({ kind: "split", next: ways });
    ways.push(build(state));
    return state;
  }

  #atom(): Build {
    if (this.#skip("(?:")) {
      const build = this.#alternatives();
      if (!this.#skip(")")) throw new Error("phrase: a group has no end");
      return build;
    }
    if (this.#skip("^")) return (next) => this.#add({ kind: "start", next });
    if (this.#skip("\\b")) return (next) => this.#add({ kind: "boundary", next });
    const characters = new Set<string>();
    if (!this.#skip("[")) characters.add(this.#character());
    else while (!this.#skip("]")) characters.add(this.#character());
    return (next) => this.#add({ kind: "read", characters, next });
  }

  #character(): string {
    if (this.#skip(ANY_WHITE_SPACE)) return ANY_WHITE_SPACE;
    if (this.#skip("\\n")) return "\n";
    if (this.#skip("\\t")) return "\t";
    this.#skip("\\");
    return this.#source.charAt(this.#at++);
  }

  #sees(text: string): boolean {
    return this.#source.startsWith(text, this.#at);
  }

  #skip(text: string): boolean {
    const isThere = this.#sees(text);
    if (isThere) this.#at += text.length;
    return isThere;
  }

  #add(state: PhraseState): number {
    return this.#states.push(state) - 1;
  }
}

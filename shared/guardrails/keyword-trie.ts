/**
 * An Aho-Corasick automaton: all keywords are searched at once, and each character of a text costs the same for any number of
 * keywords. Nodes are numbers, their edges one hash table, so that a thousand long keywords take a few megabytes.
 */
/** How a unit begins keywords. */
const [NOT_BEGUN, BEGUN, ALONE] = [0, 1, 2];
/** A power of two. */
const PAIRS = 4096;
const SPACE = 32;
/** The first white space after basic Latin, except characters that are folded to a space. */
const FIRST_WIDE_SPACE = 0x1680;

function pairHash(first: number, second: number): number {
  return (Math.imul(first, 31) + second) & (PAIRS - 1);
}

/** The automaton of a list of keywords. */
export class KeywordTrie {
  /** The longest keyword, in units. */
  readonly longest: number;
  /** Whether a keyword has several words. */
  readonly hasBlanks: boolean;
  /** By node: the length of the path from the root; the node of its longest proper suffix; the keyword that ends here. */
  readonly #depth: Int32Array;
  readonly #suffix: Int32Array;
  readonly #keyword: Int32Array;
  /** By node: the longest proper suffix at which a keyword ends; 0 if there is none. */
  readonly #nextOutput: Int32Array;
  readonly #parent: Int32Array;
  readonly #unit: Uint16Array;
  /** Nodes by the hash of parent and unit, with open addressing; 0 is free. */
  readonly #edges: Int32Array;
  #size = 1;
  /** By unit: NOT_BEGUN, BEGUN, or ALONE when the unit itself is a keyword. */
  readonly #begins = new Uint8Array(0x1_0000);
  /** By a hash of two units: whether a keyword may start with them. */
  readonly #pairs = new Uint8Array(PAIRS);

  /** @param keywords each with the number that it is reported by; of equal ones the first counts. None is empty. */
  constructor(keywords: readonly (readonly [text: string, number: number])[]) {
    const most = 1 + keywords.reduce((sum, [text]) => sum + text.length, 0);
    this.longest = keywords.reduce((longest, [text]) => Math.max(longest, text.length), 0);
    this.hasBlanks = keywords.some(([text]) => text.includes(" "));
    const column = () => new Int32Array(most);
    [this.#depth, this.#suffix, this.#nextOutput, this.#parent] = [column(), column(), column(), column()];
    this.#keyword = column().fill(-1);
    this.#unit = new Uint16Array(most);
    this.#edges = new Int32Array(2 ** Math.ceil(Math.log2(most * 2 + 2)));
    for (const [text, number] of keywords) {
      const [first, second] = [text.charCodeAt(0), text.charCodeAt(1)];
      if (text.length === 1) this.#begins[first] = ALONE;
      else {
        if (this.#begins[first] === NOT_BEGUN) this.#begins[first] = BEGUN;
        this.#pairs[pairHash(first, second)] = 1;
      }
      this.#insert(text, number);
    }
    this.#linkSuffixes();
  }

  /** The first index, from one index on and before another, at which a keyword may start; `end` if there is none. */
  nextBegin(units: Uint16Array, from: number, end: number): number {
    const begins = this.#begins;
    for (let index = from; index < end; index++) {
      const unit = units[index] ?? 0;
      const how = begins[unit];
      if (how === NOT_BEGUN) continue;
      if (how === ALONE || index + 1 === end) return index;
      const next = units[index + 1] ?? 0;
      // any white space matches the space of a keyword
      const isPlain = next > SPACE && next < FIRST_WIDE_SPACE;
      if (!isPlain || this.#pairs[pairHash(unit, next)] === 1) return index;
    }
    return end;
  }

  /** The node after one more unit: the longest suffix of the read units that is a prefix of a keyword. */
  next(node: number, unit: number): number {
    let from = node;
    for (;;) {
      const child = this.#child(from, unit);
      if (child !== 0) return child;
      if (from === 0) return 0;
      from = this.suffixOf(from);
    }
  }

  /** The longest proper suffix of a node's path that is a prefix of a keyword. */
  suffixOf(node: number): number {
    return this.#suffix[node] ?? 0;
  }

  /** How many units the path to a node has. */
  depthOf(node: number): number {
    return this.#depth[node] ?? 0;
  }

  /** The number of the keyword that is exactly the path to a node; -1 when none is. */
  keywordOf(node: number): number {
    return this.#keyword[node] ?? -1;
  }

  /** The node of the longest proper suffix at which a keyword ends; 0 if there is none. */
  nextOutput(node: number): number {
    return this.#nextOutput[node] ?? 0;
  }

  #insert(text: string, number: number): void {
    let node = 0;
    for (let at = 0; at < text.length; at++) node = this.#descend(node, text.charCodeAt(at));
    if (this.keywordOf(node) === -1) this.#keyword[node] = number;
  }

  #descend(parent: number, unit: number): number {
    const slot = this.#slot(parent, unit);
    const known = this.#edges[slot] ?? 0;
    if (known !== 0) return known;
    const node = this.#size++;
    this.#edges[slot] = node;
    this.#parent[node] = parent;
    this.#unit[node] = unit;
    this.#depth[node] = this.depthOf(parent) + 1;
    return node;
  }

  #child(parent: number, unit: number): number {
    return this.#edges[this.#slot(parent, unit)] ?? 0;
  }

  /** The slot of an edge, or the free one where it would be. The table is at most half full, so there always is one. */
  #slot(parent: number, unit: number): number {
    const mask = this.#edges.length - 1;
    let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(unit, 0x85ebca6b);
    hash ^= hash >>> 15;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const node = this.#edges[slot] ?? 0;
      if (node === 0 || (this.#parent[node] === parent && this.#unit[node] === unit)) return slot;
    }
  }

  /** Shorter paths first, so that the suffix of a node's parent is known. */
  #linkSuffixes(): void {
    const nodes = Uint32Array.from({ length: this.#size - 1 }, (_, at) => at + 1);
    nodes.sort((a, b) => this.depthOf(a) - this.depthOf(b));
    for (const node of nodes) {
      const parent = this.#parent[node] ?? 0;
      const suffix = parent === 0 ? 0 : this.next(this.suffixOf(parent), this.#unit[node] ?? 0);
      this.#suffix[node] = suffix;
      this.#nextOutput[node] = this.keywordOf(suffix) === -1 ? this.nextOutput(suffix) : suffix;
    }
  }
}

/**
 * How much work a regular expression of a client's schema can cause. The engine tries one way to match after another, and a
 * short expression can have more ways than there is time for; nothing can stop the engine once it runs. So an expression is
 * used only when its ways can be counted beforehand (docs/rules/boons.md#work-of-a-validation).
 */

/** The ways in which an expression can match a text of n characters: at most `factor` * (n + 1) ** `degree`. */
interface Ways {
  readonly factor: number;
  readonly degree: number;
  /** Steps of one way, counted with every repetition that is required. */
  readonly size: number;
}

const ONE_STEP: Ways = { factor: 1, degree: 0, size: 1 };
const FACTOR_MAX = 1_000_000;
const SIZE_MAX = 5000;

/** Deepest nesting of groups. */
const GROUPS_MAX_DEPTH = 50;

/** A part that can be repeated in an unknown number of ways: a reference back, a look around, a choice in a loop. */
class Uncountable extends Error {}

/**
 * Steps that the expression takes at most on a text of `length` UTF-16 units. Infinity: they cannot be counted (references
 * back, look around, repeated groups whose content can itself match in several ways, syntax that is not known here).
 */
export function patternSteps(source: string, length: number): number {
  try {
    const reader = new PatternReader(source);
    const { factor, degree, size } = reader.whole();
    // Without an anchor the engine tries every place of the text.
    const places = source.startsWith("^") && !reader.branches ? 1 : length + 1;
    return factor * (length + 1) ** degree * places * size;
  } catch (error) {
    if (error instanceof Uncountable) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

class PatternReader {
  readonly #source: string;
  #at = 0;
  #depth = 0;
  /** The expression has alternatives outside of groups. */
  branches = false;

  constructor(source: string) {
    this.#source = source;
  }

  whole(): Ways {
    const ways = this.#alternatives();
    if (this.#at < this.#source.length) throw new Uncountable();
    return ways;
  }

  #alternatives(): Ways {
    let sum = this.#sequence();
    while (this.#take("|")) {
      if (this.#depth === 0) this.branches = true;
      const next = this.#sequence();
      sum = bounded({
        factor: sum.factor + next.factor,
        degree: Math.max(sum.degree, next.degree),
        size: sum.size + next.size,
      });
    }
    return sum;
  }

  #sequence(): Ways {
    let product: Ways = ONE_STEP;
    while (this.#at < this.#source.length && this.#source[this.#at] !== "|" && this.#source[this.#at] !== ")") {
      const next = this.#repeated(this.#atom());
      product = bounded({
        factor: product.factor * next.factor,
        degree: product.degree + next.degree,
        size: product.size + next.size,
      });
    }
    return product;
  }

  #atom(): Ways {
    const char = this.#source[this.#at] ?? "";
    this.#at += 1;
    if (char === "(") return this.#group();
    if (char === "[") this.#class();
    else if (char === "\\") this.#escape();
    else if ("*+?{}])".includes(char)) throw new Uncountable();
    return ONE_STEP;
  }

  #group(): Ways {
    if (this.#take("?") && !this.#take(":") && !this.#named()) throw new Uncountable();
    this.#depth += 1;
    if (this.#depth > GROUPS_MAX_DEPTH) throw new Uncountable();
    const ways = this.#alternatives();
    this.#depth -= 1;
    if (!this.#take(")")) throw new Uncountable();
    return ways;
  }

  /** `<name>` of a group. A lookbehind starts alike, and is not one. */
  #named(): boolean {
    const name = /<[A-Za-z_]\w{0,50}>/y;
    name.lastIndex = this.#at;
    if (!name.test(this.#source)) return false;
    this.#at = name.lastIndex;
    return true;
  }

  #class(): void {
    while (this.#at < this.#source.length) {
      const char = this.#source[this.#at];
      this.#at += char === "\\" ? 2 : 1;
      if (char === "]") return;
    }
    throw new Uncountable();
  }

  /** The character after a backslash; the rest of `\u0041` or `\p{L}` is read as what follows, or as a count. */
  #escape(): void {
    const char = this.#source[this.#at] ?? "";
    if (/[1-9k]/.test(char) || char === "") throw new Uncountable();
    this.#at += 1;
    if (!"pPu".includes(char)) return;
    const braced = /\{[\w=]{1,60}\}/y;
    braced.lastIndex = this.#at;
    if (braced.test(this.#source)) this.#at = braced.lastIndex;
  }

  #repeated(atom: Ways): Ways {
    const counted = /\*|\+|\?|\{(\d{1,6})(,(\d{0,6}))?\}/y;
    counted.lastIndex = this.#at;
    const found = counted.exec(this.#source);
    if (found === null) return atom;
    this.#at = counted.lastIndex;
    this.#take("?");
    const [sign = "", least = "", range, most = ""] = found;
    const min = sign === "+" ? 1 : Number(least);
    if (sign === "*" || sign === "+" || (range !== undefined && most === "")) return endless(atom, min);
    const max = sign === "?" ? 1 : Number(range === undefined ? least : most);
    return bounded({
      factor: Math.max(1, max - min + 1) * atom.factor ** max,
      degree: atom.degree * max,
      size: atom.size * Math.max(1, max),
    });
  }

  #take(char: string): boolean {
    const taken = this.#source[this.#at] === char;
    if (taken) this.#at += 1;
    return taken;
  }
}

/** A part that is repeated without a bound: countable only when one repetition can match in one way. */
function endless({ factor, degree, size }: Ways, min: number): Ways {
  if (factor > 1 || degree > 0) throw new Uncountable();
  return bounded({ factor: 1, degree: 1, size: size * (min + 1) });
}

function bounded(ways: Ways): Ways {
  if (!(ways.factor <= FACTOR_MAX && ways.size <= SIZE_MAX)) throw new Uncountable();
  return ways;
}

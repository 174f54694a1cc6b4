/**
 * Members of a body that are repeated: an upstream reads the first of them or the last, and later text continues that one
 * (docs/rules/guardrails.md#split-texts).
 */
import type { KnownPath } from "./known-path.ts";

export class RepeatedMembers {
  /** The member that stood last at a depth under a name. */
  readonly #latest = new Map<string, string>();
  /** Where a member starts again, for the first time and for the last. */
  readonly #again = new Map<string, { readonly first: number; readonly last: number }>();

  get isEmpty(): boolean {
    return this.#again.size === 0;
  }

  /** Takes the names of members, in order; true: it is one that its object has already. */
  take(path: KnownPath, start: number): boolean {
    const key = keyOf(path);
    const kind = `${path.length} ${path.name}`;
    const isAgain = this.#latest.get(kind) === key;
    this.#latest.set(kind, key);
    if (isAgain) this.#again.set(key, { first: this.#again.get(key)?.first ?? start, last: start });
    return isAgain;
  }

  /** Whether a string is read where the first of equal members counts, and where the last one does. */
  readingsOf(path: KnownPath, start: number): { readonly inFirst: boolean; readonly inLast: boolean } {
    let [inFirst, inLast] = [true, true];
    for (let member: KnownPath | null = path; !this.isEmpty && member !== null; member = member.up) {
      const again = this.#again.get(keyOf(member));
      if (again === undefined) continue;
      inFirst &&= start < again.first;
      inLast &&= start > again.last;
    }
    return { inFirst, inLast };
  }
}

/** A key that members of one object share if they have the same name. */
function keyOf({ up, name }: KnownPath): string {
  return `${up?.nth ?? ""} ${name}`;
}

/**
 * Members of a body that are given again: an upstream reads the first of them or the last, and what follows continues that
 * one (docs/rules/guardrails.md#split-texts).
 */
import type { JsonPath } from "../wire/json/string-places.ts";
import { nameOf } from "./unread-members.ts";

export class RepeatedMembers {
  /** The member that stood last at a depth under a name. */
  readonly #latest = new Map<string, string>();
  /** Where a member begins again, for the first time and for the last. */
  readonly #again = new Map<string, { readonly first: number; readonly last: number }>();

  get isEmpty(): boolean {
    return this.#again.size === 0;
  }

  /** Takes the names of members, in order; true: it is one that its object has already. */
  take(path: JsonPath, start: number): boolean {
    const key = keyOf(path);
    const kind = `${path.length} ${nameOf(path.at(-1))}`;
    const isAgain = this.#latest.get(kind) === key;
    this.#latest.set(kind, key);
    if (isAgain) this.#again.set(key, { first: this.#again.get(key)?.first ?? start, last: start });
    return isAgain;
  }

  /** Whether a string is read where the first of equal members counts, and where the last one does. */
  readingsOf(path: JsonPath, start: number): { readonly inFirst: boolean; readonly inLast: boolean } {
    let [inFirst, inLast] = [true, true];
    for (let length = 1; !this.isEmpty && length <= path.length; length += 1) {
      const again = this.#again.get(keyOf(path.slice(0, length)));
      if (again === undefined) continue;
      inFirst &&= start < again.first;
      inLast &&= start > again.last;
    }
    return { inFirst, inLast };
  }
}

function keyOf(path: JsonPath): string {
  return path.map((step) => (typeof step === "number" ? step : nameOf(step))).join();
}

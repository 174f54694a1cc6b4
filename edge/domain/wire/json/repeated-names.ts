/**
 * Whether an object of a JSON text has a name twice: its readers differ in which of the two they take, and `JSON.parse`
 * keeps the last one. Pure.
 */
import type { Steps } from "../../../../shared/steps.ts";

/** Characters, or values, that are looked at without a step. */
const PART = 4 * 1024;
/** Work for a value, in units. */
const VALUE_UNITS = 4;

/** `value`: the text as it was parsed. */
export function* hasRepeatedName(text: string, value: unknown): Steps<boolean> {
  return (yield* namesIn(text)) > (yield* membersOf(value));
}

/** The names of a valid text, by its colons outside of strings. */
function* namesIn(text: string): Steps<number> {
  let [names, stepAt] = [0, 0];
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    if (at - stepAt >= PART) {
      yield (at - stepAt) / VALUE_UNITS;
      stepAt = at;
    }
    const unit = text.charCodeAt(at);
    if (unit === 0x22) inString = !inString;
    else if (inString && unit === 0x5c) at += 1;
    else if (!inString && unit === 0x3a) names += 1;
  }
  return names;
}

/** The members of all objects in a parsed value: fewer than the names in its text if an object has one of them twice. */
export function* membersOf(value: unknown): Steps<number> {
  let [members, seen] = [0, 0];
  const open: object[] = [];
  addObjects([value], 0, 1, open);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const elements: readonly unknown[] = Array.isArray(next) ? next : [];
    const own = Array.isArray(next) ? 0 : addMembers(next as Readonly<Record<string, unknown>>, open);
    members += own;
    seen += own;
    for (let from = 0; from < elements.length || seen >= PART; ) {
      if (seen >= PART) {
        yield seen * VALUE_UNITS;
        seen = 0;
      }
      const end = Math.min(from + PART - seen, elements.length);
      addObjects(elements, from, end, open);
      seen += end - from;
      from = end;
    }
  }
  return members;
}

/** Adds the objects among an object's members, and returns how many members it has: a list of these would take as long again. */
function addMembers(object: Readonly<Record<string, unknown>>, open: object[]): number {
  let members = 0;
  for (const name in object) {
    const one = object[name];
    if (typeof one === "object" && one !== null) open.push(one);
    members += 1;
  }
  return members;
}

/** Adds the objects of a part of a list. As a loop within that of its caller the engine would compile it again for short lists. */
function addObjects(values: readonly unknown[], from: number, end: number, open: object[]): void {
  for (let at = from; at < end; at += 1) {
    const one = values[at];
    if (typeof one === "object" && one !== null) open.push(one);
  }
}

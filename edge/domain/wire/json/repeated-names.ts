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

function* membersOf(value: unknown): Steps<number> {
  let [members, values] = [0, 0];
  const open = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== "object" || next === null) continue;
    const isList = Array.isArray(next);
    for (const one of isList ? (next as readonly unknown[]) : (Object.values(next) as readonly unknown[])) {
      if (!isList) members += 1;
      if (typeof one === "object") open.push(one);
      values += 1;
      if (values % PART === 0) yield PART * VALUE_UNITS;
    }
  }
  return members;
}

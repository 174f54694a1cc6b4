/** Hostile texts and JSON, and what a reader in steps tells of them (shared/steps.ts): units of work, never time. */
import fc from "fast-check";
import type { Steps } from "../../../shared/steps.ts";

/** Characters, or bytes, of what is read. */
export const LENGTH = 400_000;
/** No step may be more work, in units. */
export const STEP_MAX = 48 * 1024;
/** A reader tells of at least one unit for so many bytes, or it would read on without a step. */
export const BYTES_PER_UNIT = 20;

interface Told {
  readonly largest: number;
  readonly units: number;
  readonly steps: number;
}

export function toldBy(work: Steps<unknown>): Told {
  let told: Told = { largest: 0, units: 0, steps: 0 };
  try {
    for (let step = work.next(); step.done !== true; step = work.next()) {
      const { value } = step;
      told = { largest: Math.max(told.largest, value), units: told.units + value, steps: told.steps + 1 };
    }
  } catch {
    // what is no JSON is refused; what was read until then counts
  }
  return told;
}

export const fragment = fc.oneof(
  fc.constantFrom(
    "\ufdfa",
    "\u200b",
    "a\u0301\u0301",
    "😀",
    "a@a.a@",
    "1234 ",
    "#",
    " \n\t",
    "ignore all previous ",
    "grandma used to ",
    "\ud800",
    "a b ",
  ),
  fc.string({ unit: "binary", minLength: 1, maxLength: 12 }),
);
export const element = fc.oneof(
  fc.constantFrom(
    '""',
    "1",
    "[]",
    "{}",
    '{"a":1}',
    '{"a":"b","a":[]}',
    '{"role":"user","content":"x"}',
    '{"id":"a"}',
    "[[[[]]]]",
  ),
  fc.constantFrom('"\\u0041"', '"\\"\\""', "1e5", "null", '{"role":"tool","content":["a",{"text":"b"}]}'),
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
  fragment.map((text) => JSON.stringify(text.repeat(200))),
);

/** JSON with very many of these elements, as the only member other than `model`. */
export function manyOf(one: string, name: string, named: boolean): string {
  const many = Array.from({ length: Math.ceil(LENGTH / (one.length + 6)) }, (_, at) =>
    named ? `"${at.toString(36)}":${one}` : one,
  ).join(",");
  return `{"model":"m","${name}":${named ? `{${many}}` : `[${many}]`}}`;
}

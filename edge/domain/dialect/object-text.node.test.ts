/**
 * Arguments of a streamed call, read piece by piece: only what Anthropic's client can parse is passed on.
 *
 * @module-tag check
 */
import { partialParse } from "@anthropic-ai/sdk/_vendor/partial-json-parser/parser";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";
import { ObjectText } from "./to-messages/object-text.ts";

const RUNS = { numRuns: 3000 };
const spaces = fc.stringMatching(/^[ \t\n\r]{0,3}$/);
const anyObject = fc
  .tuple(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), fc.nat(3), spaces, spaces)
  .map(([value, indent, before, after]) => before + JSON.stringify(value, null, indent) + after);
const cuts = fc.array(fc.nat(), { maxLength: 6 });
/** One character of an object's text is another one, or is missing, or comes twice. */
const almostObject = fc
  .tuple(
    anyObject,
    fc.nat(),
    fc.nat(2),
    fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      '"',
      ",",
      ":",
      "\\",
      "u",
      "0",
      "-",
      ".",
      "e",
      "+",
      "t",
      " ",
      "n",
      "1",
      "\u0000",
      "\n",
    ),
  )
  .map(([text, place, kept, character]) => {
    const at = place % text.length;
    return text.slice(0, at) + character + text.slice(at + kept);
  });

/** The reader after each piece. */
function* pieces(text: string, places: readonly number[]): Generator<{ read: string; reader: ObjectText }> {
  const reader = new ObjectText();
  const ends = [...places.map((place) => place % (text.length + 1)), text.length].toSorted((a, b) => a - b);
  for (let at = 0, next = 0; next < ends.length; at = ends[next] ?? 0, next += 1) {
    atOnce(reader.push(text.slice(at, ends[next])));
    yield { read: text.slice(0, ends[next]), reader };
  }
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

describe("the text of an object in pieces", () => {
  it("is an object's beginning after each piece, and whole with its last bracket", () => {
    fc.assert(
      fc.property(anyObject, cuts, (text, places) => {
        for (const { read, reader } of pieces(text, places))
          expect({ read, isWrong: reader.isWrong, isWhole: reader.isWhole }).toEqual({
            read,
            isWrong: false,
            isWhole: read.trimEnd().length === text.trimEnd().length,
          });
      }),
      RUNS,
    );
  });

  it("is whole when JSON.parse says so, and otherwise wrong or not whole, however it is cut", () => {
    fc.assert(
      fc.property(almostObject, cuts, (text, places) => {
        const last = [...pieces(text, places)].at(-1);
        expect({ text, isWhole: last?.reader.isWhole }).toEqual({ text, isWhole: parsed(text) !== null });
      }),
      RUNS,
    );
  });

  it("is parsed by Anthropic's client after each piece that is not wrong", () => {
    fc.assert(
      fc.property(almostObject, cuts, (text, places) => {
        for (const { read, reader } of pieces(text, places)) {
          if (reader.isWrong) return;
          if (reader.isStarted) expect(() => partialParse(read), read).not.toThrow();
        }
      }),
      RUNS,
    );
  });

  it.each([
    '"',
    "1",
    "null",
    "[",
    "{1",
    '{"a"}',
    '{"a":tx',
    '{"a":01',
    '{"a":1.e',
    '{"a":"\\x',
    "{}{",
    "{]",
    '{"a":1,}',
  ])("is wrong at once: %s", (text) => {
    const reader = new ObjectText();
    atOnce(reader.push(text));
    expect(reader.isWrong).toBe(true);
  });

  it.each(["[", '{"a":'])("has an end of its depth: %s", (opening) => {
    const reader = new ObjectText();
    atOnce(reader.push(`{"a":${opening.repeat(600)}`));
    expect(reader.isWrong).toBe(true);
  });

  it("has an end of its numbers", () => {
    const reader = new ObjectText();
    atOnce(reader.push('{"a":'));
    for (let at = 0; at < 200; at += 1) atOnce(reader.push("1234567890"));
    expect(reader.isWrong).toBe(true);
  });
});

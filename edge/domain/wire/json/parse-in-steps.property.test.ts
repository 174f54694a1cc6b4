/** A document that is parsed in steps gives the result, or the refusal, of `JSON.parse`. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { atOnce } from "../../../../shared/steps.ts";
import { watchedCalls } from "../../../../test/harness/edge/watched-calls.ts";
import { propertyRuns } from "../../../../test/harness/property-runs.ts";
import { CollectedTexts } from "../../message-texts/collected-texts.ts";
import { parsedInSteps, parseInSteps } from "./parse-in-steps.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function parsedBy(parse: () => unknown): { readonly value: unknown } | "refused" {
  try {
    return { value: parse() };
  } catch {
    return "refused";
  }
}

/** None ends in a backslash or has a quote: V8 13.6 reads the name `"\""` as `"\\"` if an object before it had that one. */
const name = fc.oneof(
  fc.string({ unit: "binary", maxLength: 4 }).filter((text) => !text.endsWith("\\") && !text.includes('"')),
  fc.constantFrom("__proto__", "a", "b", "1", "{", "]"),
);
/** Texts that are cut: between and within escapes, and characters of several bytes. */
const text = fc
  .array(fc.constantFrom("\\", '"', "\n", "\u0001", "\ud83d\ude00", "\u00e9", "u", "a", "\ud800"), { maxLength: 40 })
  .map((units) => units.join(""));
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { weight: 4, arbitrary: fc.oneof(fc.integer(), fc.double(), fc.boolean(), fc.constant(null), name, text) },
    { weight: 1, arbitrary: fc.array(tie("value"), { maxLength: 6 }) },
    {
      weight: 1,
      arbitrary: fc.array(fc.tuple(name, tie("value")), { maxLength: 5 }).map((members) => ({
        toJSON: () => `members ${members.length}`,
        members,
      })),
    },
  ),
}));

/** JSON with names that occur more than once, and blanks anywhere. */
function written(given: unknown, blank: string): string {
  if (Array.isArray(given)) return `[${blank}${given.map((one) => written(one, blank)).join(`${blank},`)}${blank}]`;
  if (typeof given === "object" && given !== null) {
    const { members } = given as { readonly members: readonly (readonly [string, unknown])[] };
    const all = members.map(([key, one]) => `${JSON.stringify(key)}${blank}:${written(one, blank)}`);
    return `{${all.join(`,${blank}`)}${blank}}`;
  }
  return JSON.stringify(given) ?? "null";
}

const document = fc
  .tuple(fc.array(value, { maxLength: 8 }), fc.constantFrom("", " ", "\n\t "))
  .map(([given, blank]) => written(given, blank));
/** A document with a character put in, taken away or replaced. */
const broken = fc
  .tuple(document, fc.nat(), fc.nat(1), fc.constantFrom("", ",", "[", "]", "{", "}", '"', ":", "1", "null", " ", "\\"))
  .map(([text, at, removed, added]) => {
    const place = at % (text.length + 1);
    return text.slice(0, place) + added + text.slice(place + removed);
  });

it("is the same as by JSON.parse, in runs of any size", () => {
  let refused = 0;
  fc.assert(
    fc.property(fc.oneof(document, broken), fc.integer({ min: 1, max: 40 }), (text, runBytes) => {
      const expected = parsedBy(() => JSON.parse(new TextDecoder().decode(bytesOf(text))));
      refused += Number(expected === "refused");
      expect(parsedBy(() => atOnce(parseInSteps(bytesOf(text), runBytes)))).toStrictEqual(expected);
    }),
    { numRuns: propertyRuns(5000) },
  );
  expect(refused).toBeGreaterThan(propertyRuns(500));
});

it("keeps a name that is a quote apart from one that is a backslash", () => {
  expect(atOnce(parseInSteps(bytesOf('[{"\\\\":1},{"\\"":2}]'), 1))).toStrictEqual([{ "\\": 1 }, { '"': 2 }]);
});

it("puts a long list together from its runs at once: one that grows is copied again and again", () => {
  const text = `[${"1,".repeat(299_999)}1]`;
  let pushed = 0;
  let parsed: unknown;
  watchedCalls(
    [[Array.prototype, "push"]],
    () => (pushed += 1),
    () => (parsed = atOnce(parseInSteps(bytesOf(text)))),
  );
  expect({ length: (parsed as readonly unknown[]).length, pushed, isAtOnce: pushed < 100 }).toEqual({
    length: 300_000,
    pushed,
    isAtOnce: true,
  });
});

it("is read up to 64 MiB of values, and what is beyond counts as not read", () => {
  const listOf = (count: number): string => `{"choices":[],"x":[${"[],".repeat(count)}[]]}`;
  const told = [900_000, 950_000].map((count) => {
    const text = listOf(count);
    const answer = new CollectedTexts();
    atOnce(answer.document(text));
    return { isParsed: atOnce(parsedInSteps(text)) !== undefined, isExaminedWhole: answer.plain };
  });
  expect(told).toEqual([
    { isParsed: true, isExaminedWhole: true },
    { isParsed: false, isExaminedWhole: false },
  ]);
});

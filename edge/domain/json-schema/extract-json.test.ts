import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { compactText, extractJson, VALUE_MAX_DEPTH, withoutReasoning } from "./extract-json.ts";

const fence = "```";
const textOf = (content: string) => atOnce(extractJson(content)).values[0]?.text ?? null;
const textsOf = (content: string) => atOnce(extractJson(content)).values.map(({ text }) => text);
/** Any value that is an object or a list, as texts are searched for them. */
const container = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })),
  fc.array(fc.jsonValue({ maxDepth: 4 })),
);
const prose = fc.string({ unit: fc.constantFrom("a", " ", "\n", "(", "!", "`", "}", "]", "'", ",") });

describe("the JSON value of a text", () => {
  it.each([
    ['{"a": 1}', '{"a":1}'],
    [' \n[1, 2.5e3 , "x y"]\n', '[1,2.5e3,"x y"]'],
    [`${fence}json\n{\n  "a": true\n}\n${fence}`, '{"a":true}'],
    [`Sure! ${fence}\n[]\n${fence} Anything else?`, "[]"],
    ['Use {x} or [see below]: {"a": "}{\\"] \\\\"} and (b)', '{"a":"}{\\"] \\\\"}'],
    ['Not {"a": 1} but {"a": 2}.', '{"a":2}'],
    [`A first try: {"a": none}. The answer:\n${fence}json\n{"a": 1}\n${fence}`, '{"a":1}'],
    ['The set {1, 2}: {"a": [null, false]}', '{"a":[null,false]}'],
    ["12345678901234567890", "12345678901234567890"],
    ['{"n": 1e400, "big": 12345678901234567890, "n": 2}', '{"n":1e400,"big":12345678901234567890,"n":2}'],
    [`${fence}json\n"a  b"\n${fence}`, '"a  b"'],
    ["null", "null"],
    ['"such as {} or [1]"', '"such as {} or [1]"'],
    [`${fence}\n "{\\"a\\": 1}" \n${fence}`, '"{\\"a\\": 1}"'],
    ['"Ann": {"a": 1}', '{"a":1}'],
    ['{"__proto__": {"a": 1}}', '{"__proto__":{"a":1}}'],
    ['{"a": "\ud800"}', '{"a":"\ud800"}'],
  ])("of %j is %j", (content, expected) => {
    expect(textOf(content)).toBe(expected);
  });

  it.each([
    ["", "The text contains no JSON value."],
    ["I cannot do that.", "The text contains no JSON value."],
    ["[see the list] {x}", "The text contains no JSON value."],
    ['{"a": {"b": 1}, "c": ', "The JSON value is cut off before its end."],
    ['{"a": {"b": 1}, "c', "The JSON value is cut off before its end."],
    ['{"a": {"b": 1}, c: 2}', "The JSON value is not valid JSON."],
    ['{"a": {"b": 1},}', "The JSON value is not valid JSON."],
    ['[{"a": 1} {"b": 2}]', "The JSON value is not valid JSON."],
    ['{"a": "two\nlines"}', "The JSON value is not valid JSON."],
    ['{"a": "\\x"}', "The JSON value is not valid JSON."],
    ['{"a" 1}', "The JSON value is not valid JSON."],
    ["[".repeat(100_000), "The JSON value is nested deeper than 200 levels."],
  ])("is missing in %j", (content, problem) => {
    expect(atOnce(extractJson(content))).toEqual({ values: [], problem });
  });

  it("is found in any prose around it, whatever it holds", () => {
    fc.assert(
      fc.property(prose, container, prose, fc.nat(4), (before, value, after, spaces) => {
        const text = JSON.stringify(value, null, spaces);
        expect(atOnce(extractJson(`${before}${text}${after}`)).values).toEqual([
          { value: JSON.parse(text), text: JSON.stringify(value) },
        ]);
      }),
    );
  });

  it("is the whole text when that is JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(4), (value, spaces) => {
        const text = JSON.stringify(value, null, spaces);
        expect(atOnce(extractJson(text)).values).toEqual([{ value: JSON.parse(text), text: JSON.stringify(value) }]);
      }),
    );
  });

  it("is the whole text when that is a string, whatever it holds", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("{", "}", "[", "]", '"', "a", ":", "\\", " ") }), (value) => {
        expect(textOf(JSON.stringify(value))).toBe(JSON.stringify(value));
      }),
    );
  });

  it("is never a part of one that is cut off", () => {
    fc.assert(
      fc.property(container, fc.nat(), (value, cut) => {
        const text = JSON.stringify({ first: value });
        expect(atOnce(extractJson(text.slice(0, 1 + (cut % (text.length - 1))))).values).toEqual([]);
      }),
    );
  });

  it("may be as deep as is allowed", () => {
    const deep = "[".repeat(VALUE_MAX_DEPTH) + "]".repeat(VALUE_MAX_DEPTH);
    expect(textOf(deep)).toBe(deep);
    expect(textOf(`[${deep}]`)).toBeNull();
  });

  it("takes any text, and as a value only what JSON.parse takes", () => {
    const texts = fc.string({
      unit: fc.constantFrom(...'{}[]",:\\ 1-e.tn\n'.split(""), "true", "null", '"a"', "\ud800"),
    });
    fc.assert(
      fc.property(texts, (text) => {
        for (const found of atOnce(extractJson(text)).values) expect(JSON.parse(found.text)).toEqual(found.value);
      }),
      { numRuns: 1000 },
    );
  });

  it("is one of several: the first of a text, and its last three", () => {
    expect(textsOf("[1] [2] [3], [4]\n[5]")).toEqual(["[5]", "[4]", "[3]", "[1]"]);
  });

  it.each(["[1]", "[", "[1,", '{"a":', "{ ", "[ [1] ", '"', "\\", "```\n", "[1,[1] x"])(
    "is searched for in linear time in a megabyte of %j",
    (unit) => {
      expect(atOnce(extractJson(unit.repeat(1_000_000 / unit.length))).problem).toBeDefined();
    },
  );

  it.each(["{", "[{", "[1] "])("is not searched for in millions of %j, which takes little work", (unit) => {
    let units = 0;
    const steps = extractJson(unit.repeat(4_000_000 / unit.length));
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) units += step.value;
    expect(step.value).toEqual({ values: [], problem: "The text contains no JSON value." });
    expect(units).toBeLessThan(1_000_000);
  });

  it("is compact without a change of numbers or strings", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 1, 2, "\t", " \n "), (value, space) => {
        expect(atOnce(compactText(JSON.stringify(value, null, space)))).toBe(JSON.stringify(value));
      }),
    );
  });
});

describe("a text without its reasoning", () => {
  it.each([
    ['<think>{"a": 1}</think>{"a": 2}', '{"a": 2}'],
    ["\n<thinking>\nhm\n</thinking>\n\n[1]", "\n\n[1]"],
    ["The tag was in the prompt.\n</think>\n\n[1]", "\n[1]"],
    ['<think>Perhaps {"a": 1}', ""],
    ['{"a": "the tags <think> and </think> of a model"}', '{"a": "the tags <think> and </think> of a model"}'],
    ["[1]", "[1]"],
  ])("of %j is %j", (text, expected) => {
    expect(withoutReasoning(text)).toBe(expected);
  });
});

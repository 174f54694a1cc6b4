/** The classifier's request, its answer, and the memory of answers (docs/rules/auto-router.md#classifier). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answeredTags, classifiedText, classifierBody } from "./classifier.ts";
import { VERDICT_TTL_MS, VerdictCache, verdictKey } from "./verdict-cache.ts";

const saying = (content: unknown) => ({ choices: [{ message: { role: "assistant", content } }] });

it("asks for tags of the vocabulary with the start of the user's first text", () => {
  expect(classifierBody(["coding", "math"], "hi")).toEqual({
    messages: [
      {
        role: "system",
        content:
          "Choose one to three tags from this list that best describe the request. " +
          "Answer with a JSON array of strings only. Tags: coding, math",
      },
      { role: "user", content: "hi" },
    ],
    max_tokens: 32,
    temperature: 0,
  });
  expect(classifiedText([" ", "first", "second"])).toBe("first");
  expect(classifiedText([" ", ""])).toBeNull();
  expect(classifiedText(["x".repeat(3000)])).toBe("x".repeat(2000));
  expect(classifiedText([`${"x".repeat(1999)}🙂`])).toBe("x".repeat(1999));
});

describe("an answer", () => {
  const VOCABULARY = ["code", "coding", "long-context", "math", "vision"];

  it.each<[unknown, readonly string[] | null]>([
    ['["math"]', ["math"]],
    ['["math","coding"]', ["math", "coding"]],
    ["Certainly! I would say MATH.", ["math"]],
    ['```json\n["Long-Context"]\n```', ["long-context"]],
    ["vision math code long-context", ["vision", "math", "code"]],
    ["codecoding", ["code", "coding"]],
    ["poetry", []],
    ["", []],
    [`${"x".repeat(4000)}math`, []],
    [null, null],
    [7, null],
    [["math"], null],
  ])("of %j names %j", (content, tags) => {
    expect(answeredTags(saying(content), VOCABULARY)).toEqual(tags);
  });

  it.each([
    undefined,
    null,
    1,
    "math",
    [],
    {},
    { choices: null },
    { choices: [] },
    { choices: [{}] },
    { choices: [null] },
  ])("of the shape %j is unusable", (answer) => {
    expect(answeredTags(answer, VOCABULARY)).toBeNull();
  });

  it("chooses nothing but tags of the vocabulary, three at most, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.uniqueArray(fc.string({ maxLength: 3 })), (text, vocabulary) => {
        const tags = answeredTags(saying(text), vocabulary) ?? [];
        expect(tags.length).toBeLessThanOrEqual(3);
        expect(new Set(tags).size).toBe(tags.length);
        for (const tag of tags) expect(vocabulary).toContain(tag);
      }),
    );
    fc.assert(fc.property(fc.anything(), (answer) => void answeredTags(answer, VOCABULARY)));
  });
});

describe("the memory of verdicts", () => {
  it("keeps one per vocabulary and text, empty ones too, for 300 s", () => {
    const cache = new VerdictCache();
    const key = verdictKey(["math"], "hi");
    expect(cache.find(key, 0)).toBeNull();
    cache.keep(key, [], 0);
    expect(cache.find(key, VERDICT_TTL_MS - 1)).toEqual([]);
    expect(cache.find(key, VERDICT_TTL_MS)).toBeNull();
    expect(VERDICT_TTL_MS).toBe(300_000);
    const others = [verdictKey(["math"], "ho"), verdictKey(["coding"], "hi"), verdictKey(["math", "hi"], "")];
    expect(new Set([key, ...others]).size).toBe(4);
  });

  it("holds a bounded number of them, the newest", () => {
    const cache = new VerdictCache(3);
    for (const at of [0, 1, 2, 3, 4]) cache.keep(`${at}`, [`${at}`], at);
    expect(cache.size).toBe(3);
    expect([0, 1, 2, 3, 4].map((at) => cache.find(`${at}`, 5)?.[0])).toEqual([undefined, undefined, "2", "3", "4"]);
  });

  it("drops those whose time is over", () => {
    const cache = new VerdictCache();
    cache.keep("a", [], 0);
    cache.keep("b", [], 1);
    cache.keep("c", [], VERDICT_TTL_MS);
    expect(cache.size).toBe(2);
  });
});

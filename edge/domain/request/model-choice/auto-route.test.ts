/**
 * The auto router's decisions, row by row (docs/rules/auto-router.md): which models are candidates, their scores, and the tags
 * of a request.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NO_PART_PRICES } from "../../../../shared/money/cost.ts";
import type { ModelRecord } from "../../../../shared/records.ts";
import { atOnce } from "../../../../shared/steps.ts";
import { modelNamed } from "../../../../test/harness/edge/auto-route-models.ts";
import { wholeDocument } from "../../wire/json/document.ts";
import { routeClassOf } from "../route-class.ts";
import { estimateTokens as estimateTokensInSteps } from "../token-estimate.ts";
import { type CandidateRules, exclusionOf } from "./candidates.ts";
import { rankModels, vocabularyOf } from "./choose-model.ts";
import { heuristicTags } from "./heuristics.ts";
import { requestTraits } from "./request-traits.ts";

const estimateTokens = (...given: Parameters<typeof estimateTokensInSteps>) => atOnce(estimateTokensInSteps(...given));

const NOW_MS = 1_000_000;

function traits(body: Readonly<Record<string, unknown>>) {
  const document = wholeDocument(body);
  const { estimate, limits } = routeClassOf("/v1/chat/completions");
  return atOnce(requestTraits(document, estimateTokens(estimate, document, limits)));
}

const ask = (text: string, more: Readonly<Record<string, unknown>> = {}) => ({
  messages: [{ role: "user", content: text }],
  ...more,
});
const withPart = (part: unknown) => ({ messages: [{ role: "user", content: [{ type: "text", text: "see" }, part] }] });

const PLAIN = ask("hello");
const IMAGE = withPart({ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } });
const TOOL = { type: "function", function: { name: "f" } };
const SUPPORTS_ALL = {
  function_calling: true,
  system_messages: true,
  response_schema: true,
  tool_choice: true,
  vision: true,
};
const SUPPORTS_NONE = {
  function_calling: false,
  system_messages: false,
  response_schema: false,
  tool_choice: false,
  vision: false,
};

function exclusion(
  changes: Partial<ModelRecord>,
  body: Readonly<Record<string, unknown>>,
  rules: Partial<CandidateRules> = {},
) {
  return exclusionOf(modelNamed("a", { supports: SUPPORTS_ALL, ...changes }), {
    needs: traits(body).needs,
    nowMs: NOW_MS,
    isPermitted: () => true,
    isBoonEffective: () => false,
    ...rules,
  });
}

describe("a candidate", () => {
  it.each<[string, Partial<ModelRecord>, string | null]>([
    ["an enabled chat model", {}, null],
    ["a disabled one", { enabled: false }, "disabled"],
    ["a model of another type", { model_type: "embedding" }, "not_chat"],
    ["an unhealthy one", { health_status: "unhealthy" }, "unhealthy"],
    ["a degraded one", { health_status: "degraded" }, null],
    ["one that was never checked", { health_status: "unknown" }, null],
    ["one in maintenance", { maintenance_until_ms: NOW_MS + 1 }, "maintenance"],
    ["one whose maintenance is over", { maintenance_until_ms: NOW_MS }, null],
  ])("%s", (_, changes, expected) => {
    expect(exclusion(changes, PLAIN)).toBe(expected);
  });

  it("is on the caller's list", () => {
    expect(exclusion({}, PLAIN, { isPermitted: (name) => name !== "a" })).toBe("not_permitted");
  });

  it.each<[string, number, Readonly<Record<string, unknown>>, string | null]>([
    // "hello" is one token, and a message costs four
    ["no stated window", 0, ask("hello", { max_tokens: 2_000_000_000 }), null],
    ["a window that just holds input and stated output", 105, ask("hello", { max_tokens: 100 }), null],
    ["a window that is one token short", 104, ask("hello", { max_tokens: 100 }), "context_window"],
    [
      "the largest of several limits counts",
      104,
      ask("hello", { max_tokens: 1, max_completion_tokens: 100 }),
      "context_window",
    ],
    ["without a stated limit only the input counts", 5, PLAIN, null],
    ["an input that does not fit", 4, PLAIN, "context_window"],
  ])("has the room: %s", (_, context_window, body, expected) => {
    expect(exclusion({ context_window }, body)).toBe(expected);
  });

  it.each<[string, Readonly<Record<string, unknown>>, string | null]>([
    ["nothing", PLAIN, null],
    ["tools", ask("x", { tools: [TOOL] }), "tools"],
    ["functions", ask("x", { functions: [{ name: "f" }] }), "tools"],
    ["no tools at all", ask("x", { tools: [], functions: null }), null],
    ["a tool by name", ask("x", { tool_choice: { type: "function", function: { name: "f" } } }), "tool_choice"],
    ["any tool", ask("x", { tool_choice: "required" }), "tool_choice"],
    ["a tool if it likes", ask("x", { tool_choice: "auto" }), null],
    ["no tool", ask("x", { tool_choice: "none" }), null],
    ["a function by name", ask("x", { function_call: { name: "f" } }), "tool_choice"],
    ["JSON by a schema", ask("x", { response_format: { type: "json_schema" } }), "response_format"],
    ["a JSON object", ask("x", { response_format: { type: "json_object" } }), "response_format"],
    ["text", ask("x", { response_format: { type: "text" } }), null],
    ["an image", IMAGE, "vision"],
    ["an image of the responses route", withPart({ type: "input_image" }), "vision"],
    ["a sound", withPart({ type: "input_audio" }), null],
  ])("can do what is asked: %s", (_, body, expected) => {
    expect(exclusion({ supports: SUPPORTS_NONE }, body)).toBe(expected);
    expect(exclusion({}, body)).toBeNull();
  });

  it.each([
    ["vision", IMAGE],
    ["structured_output", ask("x", { response_format: { type: "json_object" } })],
  ])("may lack what the boon %s does", (name, body) => {
    const effective: CandidateRules["isBoonEffective"] = (_, boon) => boon === name;
    expect(exclusion({ supports: SUPPORTS_NONE }, body, { isBoonEffective: effective })).toBeNull();
    expect(
      exclusion({ supports: SUPPORTS_NONE }, body, { isBoonEffective: (_, boon) => boon !== name }),
    ).not.toBeNull();
  });
});

const priced = (name: string, input: number, output: number, changes: Partial<ModelRecord> = {}) =>
  modelNamed(name, {
    ...changes,
    prices: {
      input,
      output,
      image: 0,
      character: 0,
      audio_second: 0,
      ...NO_PART_PRICES,
      input_second: 0,
    },
  });
const scores = (...given: Parameters<typeof rankModels>) =>
  Object.fromEntries(rankModels(...given).map(({ model, score }) => [model.model_name, Number(score.toFixed(6))]));
const order = (...given: Parameters<typeof rankModels>) => rankModels(...given).map(({ model }) => model.model_name);
const idle = () => 0;

describe("the score", () => {
  it.each([
    [4, 0, 1],
    [4, 1, 0.75],
    [4, 4, 0],
    [4, 9, 0],
    [null, 0, 1],
    [null, 2, 0.75],
    [null, 8, 0],
  ])("with a cap of %s and %s requests under way has a spare of %s", (max_in_flight, inFlight, spare) => {
    expect(rankModels([modelNamed("a", { max_in_flight })], [], () => inFlight)).toMatchObject([{ spare, cost: 1 }]);
  });

  it("weighs spare 0.6 and cost 0.4", () => {
    const models = [priced("cheap", 1, 1), priced("middle", 2, 3), priced("dear", 4, 6)];
    expect(scores(models, [], idle)).toEqual({ cheap: 1, middle: 0.85, dear: 0.6 });
    expect(scores(models, [], (name) => (name === "cheap" ? 8 : 0))).toEqual({ cheap: 0.4, middle: 0.85, dear: 0.6 });
  });

  it("is the base for half when tags are desired, and the overlap for the other half", () => {
    const models = [
      modelNamed("both", { tags: ["coding", "math"] }),
      modelNamed("none"),
      modelNamed("one", { tags: ["math", "math", "other"] }),
    ];
    expect(scores(models, ["coding", "math"], idle)).toEqual({ both: 1, one: 0.75, none: 0.5 });
    expect(scores(models, ["math", "math"], idle)).toEqual({ both: 1, one: 1, none: 0.5 });
  });

  it("is tied by name", () => {
    expect(order([modelNamed("b"), modelNamed("B"), modelNamed("a")], [], idle)).toEqual(["B", "a", "b"]);
  });

  it("is from 0 to 1 for any records and counts, and ranks the same in any order of input", () => {
    const amount = fc.oneof(fc.double(), fc.constantFrom(0, 1e308, Number.MAX_VALUE, 5e-324, Number.NaN));
    const record = fc.record({
      input: amount,
      output: amount,
      max_in_flight: fc.oneof(fc.constant(null), amount),
      inFlight: amount,
      tags: fc.array(fc.constantFrom("a", "b", "__proto__"), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.array(record, { maxLength: 6 }), fc.array(fc.constantFrom("a", "__proto__")), (given, desired) => {
        const models = given.map(({ input, output, ...rest }, at) => priced(`m${at}`, input, output, rest));
        const inFlight = (name: string) => given[Number(name.slice(1))]?.inFlight ?? 0;
        const ranked = rankModels(models, desired, inFlight);
        for (const { score } of ranked) expect(score >= 0 && score <= 1).toBe(true);
        expect(order([...models].reverse(), desired, inFlight)).toEqual(ranked.map(({ model }) => model.model_name));
      }),
    );
  });
});

it("the vocabulary is the sorted union of the tags", () => {
  const models = [
    modelNamed("a", { tags: ["math", "coding"] }),
    modelNamed("b", { tags: ["coding"] }),
    modelNamed("c"),
  ];
  expect(vocabularyOf(models)).toEqual(["coding", "math"]);
});

describe("the tags by signals", () => {
  it.each([
    ["hello there", []],
    ["```\nx\n```", ["coding"]],
    ["FUNCTION foo", ["coding"]],
    ["(def x", ["coding"]],
    ["a class of its own", ["coding"]],
    ["import x", ["coding"]],
    ["select one", ["coding"]],
    ["public void", ["coding"]],
    ["const a", ["coding"]],
    ["a => a", ["coding"]],
    ["my Code", ["coding"]],
    ["it does not compile.", ["coding"]],
    ["a stack trace:", ["coding"]],
    ["a bug", ["coding"]],
    ["in Python", ["coding"]],
    ["in JavaScript", ["coding"]],
    ["in TypeScript", ["coding"]],
    ["in Rust?", ["coding"]],
    ["in Java", ["coding"]],
    ["some SQL", ["coding"]],
    ["a regex", ["coding"]],
    ["Solve this", ["math"]],
    ["an equation", ["math"]],
    ["the integral", ["math"]],
    ["a derivative", ["math"]],
    ["a theorem", ["math"]],
    ["Calculate it", ["math"]],
    ["the probability", ["math"]],
    ["algebra!", ["math"]],
    ["calculus", ["math"]],
    ["a matrix", ["math"]],
    ["2+2=4", ["math"]],
    ["x ^ 2 = y", ["math"]],
    ["is a/b = c?", ["math"]],
    ["a=1", []],
    ["a + b", []],
    ["decode the barcode", []],
    ["debugging", []],
    ["malfunction of the republic of", []],
    ["trustworthy javanese", []],
    ["résolve the matrixé", []],
    ["solve it in python", ["coding", "math"]],
  ])("%j has %j", (text, tags) => {
    expect(heuristicTags(traits(ask(text)))).toEqual(tags);
  });

  it("come from every message of the user, and from no other", () => {
    const user = (content: unknown) => ({ role: "user", content });
    const system = { role: "system", content: "solve" };
    expect(heuristicTags(traits({ messages: [system, user("hi"), { role: "assistant", content: "code" }] }))).toEqual(
      [],
    );
    expect(heuristicTags(traits({ messages: [user("hi"), user([{ type: "text", text: "solve" }])] }))).toEqual([
      "math",
    ]);
  });

  it("are vision for an image, and long-context for an estimate above 32,000", () => {
    expect(heuristicTags(traits(IMAGE))).toEqual(["vision"]);
    // the message costs four tokens, and the output is estimated at 8192
    const long = (tokens: number) => heuristicTags(traits(ask("z ".repeat(tokens * 2))));
    expect(long(32_000 - 8192 - 4)).toEqual([]);
    expect(long(32_000 - 8192 - 3)).toEqual(["long-context"]);
  });
});

describe("a hostile body", () => {
  const FIELDS = ["messages", "tools", "functions", "tool_choice", "function_call", "response_format", "__proto__"];

  it("never fails, and asks for what it says", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...FIELDS), fc.jsonValue({ maxDepth: 4 })), (body) => {
        const parsed = JSON.parse(JSON.stringify(body)) as Record<string, unknown>;
        const { needs, userTexts } = traits(parsed);
        expect(typeof exclusion({ supports: SUPPORTS_NONE }, parsed)).toMatch(/string|object/);
        expect(Number.isSafeInteger(needs.contextTokens)).toBe(true);
        expect(userTexts.every((text) => typeof text === "string")).toBe(true);
      }),
    );
  });

  it("of a megabyte is read once", () => {
    const near = ["def", "stack ", "a ", "x+", "co", "=", "= +", "`` ", "\u0301", "\ud800", "function"];
    const seen = near.filter((piece) => {
      const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
      return heuristicTags({ ...traits(PLAIN), userTexts: [text] }).length > 0;
    });
    expect(seen).toEqual([]);
  });
});

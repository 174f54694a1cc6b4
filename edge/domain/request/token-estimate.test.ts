import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { readJson } from "../../../test/harness/edge/read-json.ts";
import { TOKEN_LIMITS } from "./client-fields.ts";
import { type BilledBy, type EstimateRule, routeClassOf } from "./route-class.ts";
import {
  estimateTokens as estimateTokensInSteps,
  measureOf,
  reservedOutputTokens,
  textTokens,
} from "./token-estimate.ts";

const estimateTokens = (...given: Parameters<typeof estimateTokensInSteps>) => atOnce(estimateTokensInSteps(...given));

function documentOf(body: object) {
  const document = readJson(new TextEncoder().encode(JSON.stringify(body)), "secret");
  if (document === null) throw new Error("the test's body is an object");
  return document;
}

/** A route of each rule whose API has limits. */
const PATHS: Partial<Record<EstimateRule, string>> = {
  messages: "/v1/chat/completions",
  prompt: "/v1/completions",
  responses: "/v1/responses",
  any: "/v1/messages",
};
const estimate = (body: object, rule: EstimateRule = "messages") =>
  estimateTokens(rule, documentOf(body), routeClassOf(PATHS[rule] ?? "").limits);

const user = (content: unknown) => ({ role: "user", content });

describe("the estimate of a chat request (docs/rules/token-estimates.md#formulas)", () => {
  it.each([
    [0, 0],
    [1, 1],
    [7, 1],
    [8, 2],
  ])("%i code points are %i tokens", (points, tokens) => {
    expect(textTokens(points)).toBe(tokens);
  });

  it("counts text and four per message, output between 512 and 8192", () => {
    expect(estimate({ messages: [user("a".repeat(40)), user("😀".repeat(8))] })).toEqual({
      inputTokens: 20,
      outputTokens: 512,
      totalTokens: 532,
      statedOutputTokens: null,
      isOpen: true,
      answers: 1,
    });
    expect(estimate({ messages: [user("a".repeat(8000))] }).outputTokens).toBe(2004);
    expect(estimate({ messages: [user("a".repeat(80_000))] }).outputTokens).toBe(8192);
  });

  it("counts each text part, and no medium or label", () => {
    const content = [
      { type: "text", text: "12345678" },
      { type: "image_url", image_url: { url: "x".repeat(1000) } },
      { type: "text", text: "1" },
      { type: "input_audio", input_audio: { data: "x".repeat(1000), format: "wav" } },
    ];
    expect(estimate({ messages: [user(content), { role: "assistant", content: null }, null] }).inputTokens).toBe(
      2 + 1 + 4 + 4 + 4,
    );
  });

  const much = "x".repeat(400);
  it.each<[string, object, number]>([
    ["tools", { tools: [{ type: "function", function: { name: "f", description: much } }] }, 109],
    ["names in tools", { tools: [{ [much]: true }] }, 100],
    ["what is a medium elsewhere, in tools", { tools: [{ url: much }] }, 101],
    ["formats", { response_format: { json_schema: { title: much } } }, 103],
    ["documents", { documents: [{ url: much }] }, 101],
    ["system texts", { system: [{ type: "text", text: much }] }, 100],
    ["refusals", { messages: [{ role: "assistant", content: [{ type: "refusal", refusal: much }] }] }, 104],
    ["calls of tools", { messages: [{ role: "assistant", tool_calls: [{ function: { arguments: much } }] }] }, 108],
    ["inputs of tools", { messages: [user([{ type: "tool_use", id: "t", input: { data: much } }])] }, 105],
    ["results of tools", { messages: [user([{ type: "tool_result", tool_use_id: "t", content: much }])] }, 104],
    ["texts where media are", { messages: [user([{ source: { type: "text", data: much } }])] }, 104],
    ["long labels", { messages: [{ ...user(""), tool_call_id: much }] }, 104],
    ["prefixes", { input_prefix: much, input_extra: [{ filename: much }] }, 202],
    ["nothing that no model reads", { model: much, user: much, metadata: { a: much }, logit_bias: { 1: 1 } }, 0],
  ])("counts %s", (_, body, inputTokens) => {
    expect(estimate(body).inputTokens).toBe(inputTokens);
  });

  it.each<[object, number]>([
    [{ n_predict: 700, max_tokens: 1 }, 700],
    [{ sampling_params: { max_new_tokens: 100_000 }, max_tokens: 1 }, 100_000],
    [{ sampling_params: [{ max_new_tokens: 1 }, { max_new_tokens: 900 }] }, 900],
    [{ parameters: { max_new_tokens: 800 } }, 800],
    [{ options: { num_predict: 600 } }, 600],
    [{ max_length: 700, max_tokens: 1 }, 700],
    [{ max_gen_len: 700, max_gen_toks: 600 }, 700],
    [{ inferenceConfig: { maxTokens: 700 }, max_tokens: 1 }, 700],
    [{ params: { max_tokens: 700 } }, 700],
  ])("takes the limits of model servers: %j", (body, statedOutputTokens) => {
    expect(estimate({ text: "hi", ...body }, "any")).toMatchObject({ statedOutputTokens });
  });

  it.each<[object, number]>([
    [{ extra_body: { max_new_tokens: 100_000 }, max_tokens: 1 }, 100_000],
    [{ extra_body: { parameters: { maxNewTokens: 900 } } }, 900],
    [{ sampling_params: { max_tokens: 900 }, max_tokens: 1 }, 900],
    [{ vllm_xargs: { max_completion_tokens: "900" } }, 900],
    [{ max_tokens: 1, parameters: { max_new_tokens: "9_00" } }, 900],
    [{ max_tokens: 1, parameters: { max_new_tokens: "٩" } }, 2_147_483_647],
    [{ max_tokens: 1, parameters: { max_new_tokens: "" } }, 1],
    [{ max_tokens: 1000, parameters: { best_of: "1_0" } }, 10_000],
    [{ metadata: { max_new_tokens: 900 }, max_tokens: 1 }, 1],
    [{ max_tokens: 1000, n: 100 }, 100_000],
    [{ max_tokens: 1000, n: 2, best_of: 20 }, 20_000],
    [{ max_tokens: 1000, sampling_params: { n: 3 } }, 3_000],
    [{ max_tokens: 1000, prompt: Array.from({ length: 100 }, () => "a") }, 100_000],
    [{ max_tokens: 1000, n: 2, prompt: [[1, 2], [3]] }, 4_000],
    [{ max_tokens: 1000, prompt: [1, 2, 3] }, 1_000],
    [{ max_tokens: 1000, text: ["a", "b"] }, 2_000],
    [{ max_tokens: 1000, messages: [[user("a")], [user("b")]] }, 2_000],
    [{ max_tokens: 1000, messages: [user("a"), user("b")] }, 1_000],
    [{ n: 3 }, 1_536],
    [{ max_tokens: 2_147_483_647, n: 1000 }, 2_147_483_647],
    [{ max_tokens: 1000, n: null, best_of: -1, prompt: [] }, 1_000],
  ])("reserves the largest limit for every answer: %j", (body, reserved) => {
    expect(reservedOutputTokens(estimate(body, "any"), null)).toBe(reserved);
  });

  it("reserves the limit that the gateway states, unless the client states one", () => {
    const reserved = (body: object): number => reservedOutputTokens(estimate(body, "any"), 4096);
    expect({ none: reserved({}), stated: reserved({ max_tokens: 5 }) }).toEqual({ none: 4096, stated: 5 });
  });

  it("counts a large body in steps", () => {
    const body = { tools: Array.from({ length: 50 }, () => ({ description: "x".repeat(20_000), enum: [1, "a"] })) };
    const steps = [...estimateTokensInSteps("messages", documentOf(body))];
    expect(steps.length).toBeGreaterThan(40);
    expect(Math.max(...steps)).toBeLessThan(4_000);
  });

  it("takes the largest stated maximum, cut to 8192 but remembered as given", () => {
    expect(estimate({ messages: [], max_tokens: 10, max_completion_tokens: 99, max_output_tokens: 5 })).toMatchObject({
      outputTokens: 99,
      statedOutputTokens: 99,
    });
    expect(estimate({ messages: [], max_completion_tokens: 100_000 })).toMatchObject({
      outputTokens: 8192,
      statedOutputTokens: 100_000,
    });
    expect(estimate({ messages: [], max_tokens: -5 })).toMatchObject({ outputTokens: 512 });
  });

  it.each([
    ...TOKEN_LIMITS.flatMap((name) => [{ [name]: 0 }, { options: { [name]: 0 } }]),
    { n_predict: 0.5 },
    { num_predict: "0" },
    { n_predict: -1 },
  ])("takes a limit below 1 for none, as many servers do: %j", (body) => {
    const unlimited = { outputTokens: 512, statedOutputTokens: null };
    expect(estimate({ messages: [], ...body })).toMatchObject(unlimited);
    expect(estimate({ messages: [], ...body, max_new_tokens: 7 })).toMatchObject(unlimited);
    expect(estimate({ messages: [], ...body, max_new_tokens: 700 })).toMatchObject({ statedOutputTokens: 700 });
  });
});

describe("the estimate of the other routes (docs/rules/token-estimates.md#formulas)", () => {
  const text = "x".repeat(40);

  it.each<[EstimateRule, object, number, number]>([
    ["prompt", { prompt: text }, 10, 512],
    ["prompt", { prompt: [text, "ab"] }, 11, 512],
    ["prompt", { prompt: [1, 2, 3] }, 3, 512],
    ["prompt", { prompt: [[1, 2], [3]], max_tokens: 5 }, 3, 5],
    ["prompt", {}, 0, 512],
    ["input", { input: [text, text], max_tokens: 5 }, 20, 0],
    ["input", { input: [1, 2, 3] }, 3, 0],
    ["input", { input: { text } }, 10, 0],
    ["speech", { input: text }, 10, 0],
    ["speech", { input: [text] }, 0, 0],
    ["nothing", { prompt: text, messages: [user(text)] }, 0, 0],
    ["responses", { input: text, max_output_tokens: 7 }, 10, 7],
    ["responses", { instructions: text, input: [{ role: "user", content: text }] }, 24, 512],
    [
      "responses",
      {
        input: [
          { type: "message", role: "user", content: [{ type: "input_text", text }, { type: "input_image" }] },
          { type: "function_call_output", output: text },
        ],
      },
      24,
      512,
    ],
    ["any", { messages: [user(text)], prompt: text }, 24, 512],
    ["any", { prompt: text }, 10, 512],
    ["any", { query: text, documents: [text] }, 20, 512],
    ["any", { text, input_ids: [1, 2], image_data: text }, 12, 512],
    ["any", { inputs: text }, 10, 512],
    ["any", { prompt: { prompt_string: text, multimodal_data: [text] } }, 10, 512],
    ["texts", { query: text, documents: [text, { text }, { image: "x" }] }, 30, 0],
    ["texts", { text_1: text, text_2: [text, text] }, 30, 0],
    ["texts", { queries: [text], max_tokens: 9 }, 10, 0],
    ["texts", { input: [{ type: "text", text }] }, 10, 0],
    ["texts", { messages: [user(text)] }, 14, 0],
  ])("%s of %j is %i in, %i out", (rule, body, inputTokens, outputTokens) => {
    expect(estimate(body, rule)).toMatchObject({
      inputTokens,
      outputTokens,
      totalTokens: Math.max(inputTokens + outputTokens, 1),
    });
  });
});

describe("what a route is billed by (docs/rules/settlement-and-rows.md#cost)", () => {
  it.each<[BilledBy, object, object]>([
    ["tokens", {}, { kind: "tokens" }],
    ["input-tokens", {}, { kind: "input-tokens" }],
    ["images", {}, { kind: "images", count: 1 }],
    ["characters", { input: "a😀b" }, { kind: "characters", count: 3 }],
    ["characters", { input: 5 }, { kind: "characters", count: 0 }],
    ["seconds", {}, { kind: "seconds" }],
    ["nothing", {}, { kind: "free" }],
  ])("%s of %j is %j", (billedBy, body, measure) => {
    expect(measureOf(billedBy, documentOf(body))).toEqual(measure);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { readJson } from "../../../test/harness/edge/read-json.ts";
import { routeClassOf } from "./route-class.ts";
import { estimateTokens, reservedOutputTokens } from "./token-estimate.ts";

function estimated(path: string, body: object) {
  const document = readJson(new TextEncoder().encode(JSON.stringify(body)), "secret");
  if (document === null) throw new Error("the test's body is an object");
  const route = routeClassOf(path);
  const estimate = atOnce(estimateTokens(route.estimate, document, route.limits));
  const { outputTokens, totalTokens } = estimate;
  const [reserved, translated] = [null, 4096].map((implied) => reservedOutputTokens(estimate, implied));
  return { outputTokens, totalTokens, reserved, translated };
}

const CHAT = "/v1/chat/completions";
const OPEN = { outputTokens: 512, reserved: 512, translated: 4096 };
const both = (tokens: number) => ({ outputTokens: tokens, reserved: tokens, translated: tokens });

describe("a limit in the body (docs/rules/token-estimates.md#client-limits)", () => {
  it.each<[string, object]>([
    [CHAT, { max_completion_tokens: 7 }],
    [CHAT, { max_tokens: 7 }],
    [CHAT, { max_tokens: 7, max_completion_tokens: 3 }],
    ["/v1/completions", { max_tokens: 7 }],
    ["/v1/fim/completions", { max_tokens: 7 }],
    ["/v1/responses", { max_output_tokens: 7 }],
    ["/v1/messages", { max_tokens: 7 }],
    ["/completion", { n_predict: 7 }],
    ["/infill", { n_predict: 7 }],
    ["/generate", { text: "hi", sampling_params: { max_new_tokens: 7 } }],
    ["/generate", { inputs: "hi", parameters: { max_new_tokens: 7 } }],
    ["/generate", { prompt: "hi", max_tokens: 7 }],
    ["/v1/generate", { input_ids: [1], sampling_params: { max_new_tokens: 7 }, max_tokens: 5 }],
    [
      "/generate",
      { text: "hi", inputs: "a", sampling_params: { max_new_tokens: 7 }, parameters: { max_new_tokens: 5 } },
    ],
  ])("of the route's own API lowers the estimate: %s %j", (path, body) => {
    expect(estimated(path, body)).toMatchObject(both(7));
  });

  it.each<[string, object]>([
    ["/v1/completions", { max_completion_tokens: 1 }],
    ["/v1/responses", { max_tokens: 1 }],
    ["/v1/messages", { max_completion_tokens: 1 }],
    ["/completion", { max_tokens: 1, options: { n_predict: 1 } }],
    ["/completion", { n_predict: "1" }],
    ["/generate", { text: "hi", parameters: { max_new_tokens: 1 }, max_tokens: 1 }],
    ["/generate", { text: "hi", sampling_params: [{ max_new_tokens: 1 }] }],
    ["/generate", { text: "hi", inputs: "a", parameters: { max_new_tokens: 1 } }],
    ["/generate", { input_ids: [1], sampling_params: { max_new_tokens: 1 } }],
    ["/generate", { max_tokens: 1, sampling_params: { max_new_tokens: 1 } }],
    ["/api/generate", { prompt: "hi", max_tokens: 1, options: { num_predict: 1 } }],
    ["/api/chat", { messages: [], options: { num_predict: 1 } }],
    [CHAT, { max_gen_toks: 1 }],
    [CHAT, { n_predict: 1 }],
    [CHAT, { max_output_tokens: 1 }],
    [CHAT, { maxTokens: 1 }],
    [CHAT, { extra_body: { max_new_tokens: 1 } }],
    [CHAT, { extra_body: { max_tokens: 1 } }],
    [CHAT, { params: [{ max_length: 1 }] }],
  ])("of another API does not lower it: %s %j", (path, body) => {
    expect(estimated(path, body)).toMatchObject(OPEN);
  });
});

describe("a limit under a name or at a place that is not the route's", () => {
  const NAMES =
    "max_gen_toks n_predict num_predict max_new_tokens max_length max_gen_len maxTokens max_tokens_to_sample";
  const name = fc.constantFrom(...NAMES.split(" "), "max_tokens", "max_completion_tokens", "max_output_tokens");
  const holder = fc.constantFrom("", "extra_body", "params", "parameters", "sampling_params", "options", "vllm_xargs");
  const tokens = fc.oneof(fc.integer({ min: -1, max: 20_000 }), fc.constantFrom(1, "1", "0", 1e30, null));
  const other = fc
    .record({ name, holder, tokens, isList: fc.boolean() })
    .map(({ name: key, holder: place, tokens: value, isList }) => {
      const held = { [key]: value };
      return place === "" ? held : { [place]: isList ? [held] : held };
    });
  const own = fc.option(fc.integer({ min: 0, max: 20_000 }), { nil: undefined });
  /** Every route with a body that has this limit of its own, if any. */
  const ROUTES: readonly (readonly [string, (limit?: number) => object])[] = [
    [CHAT, (limit) => ({ max_tokens: limit })],
    [CHAT, (limit) => ({ max_completion_tokens: limit })],
    ["/v1/completions", (limit) => ({ max_tokens: limit })],
    ["/v1/responses", (limit) => ({ max_output_tokens: limit })],
    ["/v1/messages", (limit) => ({ max_tokens: limit })],
    ["/completion", (limit) => ({ n_predict: limit })],
    ["/generate", (limit) => ({ text: "hi", sampling_params: { max_new_tokens: limit } })],
    ["/generate", (limit) => ({ inputs: "hi", parameters: { max_new_tokens: limit } })],
    ["/api/chat", () => ({})],
  ];
  const OWN: Readonly<Record<string, readonly string[]>> = {
    [CHAT]: ["max_tokens", "max_completion_tokens"],
    "/v1/completions": ["max_tokens"],
    "/v1/responses": ["max_output_tokens"],
    "/v1/messages": ["max_tokens"],
    "/completion": ["n_predict"],
    "/generate": ["sampling_params", "parameters"],
  };

  it("never lowers the estimate or what is reserved, whatever the body states", () => {
    fc.assert(
      fc.property(fc.constantFrom(...ROUTES), own, other, ([path, bodyOf], limit, more) => {
        fc.pre(Object.keys(more).every((key) => OWN[path]?.includes(key) !== true));
        const text = { prompt: "x" };
        const [without, beside] = [bodyOf(limit), { ...more, ...bodyOf(limit) }].map((body) =>
          estimated(path, path === "/generate" ? body : { ...text, ...body }),
        );
        for (const key of ["outputTokens", "totalTokens", "reserved", "translated"] as const)
          expect(beside?.[key]).toBeGreaterThanOrEqual(without?.[key] ?? 0);
      }),
      { numRuns: 500 },
    );
  });

  it("raises what is reserved, uncut, also above the limit of a translation", () => {
    const raised = { outputTokens: 8192, reserved: 100_000, translated: 100_000 };
    expect(estimated(CHAT, { n_predict: 100_000 })).toMatchObject(raised);
    expect(estimated(CHAT, { max_tokens: 1, extra_body: { max_new_tokens: 100_000 } })).toMatchObject(raised);
    expect(estimated(CHAT, { n_predict: 700 })).toMatchObject({ outputTokens: 700, reserved: 700, translated: 4096 });
  });
});

describe("the prompts of a batch", () => {
  it.each<[string, object, number]>([
    ["/completion", { prompt: [{ prompt_string: "a" }, { prompt_string: "b" }], n_predict: 7 }, 14],
    ["/v1/completions", { prompt: [{ prompt_token_ids: [1] }, { prompt_token_ids: [1] }], max_tokens: 7 }, 14],
    ["/v1/completions", { prompt: [null, "a", true], max_tokens: 7 }, 21],
    ["/v1/completions", { prompt: ["a", [1], { prompt_string: "b" }], max_tokens: 7 }, 21],
    ["/v1/completions", { prompt: [[1, 2], [3]], max_tokens: 7 }, 14],
    ["/completion", { prompt: [1, "a", 2], n_predict: 7 }, 7],
    ["/completion", { prompt: { prompt_string: "a" }, n_predict: 7 }, 7],
    ["/v1/completions", { prompt: [], max_tokens: 7 }, 7],
  ])("are reserved each, whatever kind they are: %s %j", (path, body, reserved) => {
    expect(estimated(path, body)).toMatchObject({ reserved });
  });
});

/**
 * Usage that cannot be true counts nowhere, on any route (docs/rules/settlement-and-rows.md#reports-that-are-not-believed).
 */
import { beforeEach, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { modelOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { speaking } from "../../../test/harness/speaking.ts";
import { run, runOther } from "../run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const MUCH = "1e30";
const chat = { messages: [{ role: "user", content: "hello" }], max_tokens: 9 };
const openAi = `{"usage":{"prompt_tokens":${MUCH},"completion_tokens":${MUCH}}}`;
const event = (data: string): string => `data: ${data}\n\n`;

it.each<[string, string, object, string]>([
  ["a chat", "/v1/chat/completions", chat, openAi],
  ["a streamed chat", "/v1/chat/completions", { ...chat, stream: true }, event(openAi) + event("[DONE]")],
  ["a completion", "/v1/completions", { prompt: "hello", max_tokens: 9 }, openAi],
  ["a response", "/v1/responses", { input: "hello" }, `{"usage":{"input_tokens":${MUCH},"output_tokens":1}}`],
  [
    "a message, in its cache",
    "/v1/messages",
    chat,
    `{"usage":{"input_tokens":1,"output_tokens":1,"cache_creation_input_tokens":${MUCH}}}`,
  ],
  [
    "a chat, as reasoning",
    "/v1/chat/completions",
    chat,
    `{"usage":{"prompt_tokens":1,"completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":${MUCH}}}}`,
  ],
  ["embeddings", "/v1/embeddings", { input: "hello" }, `{"usage":{"prompt_tokens":${MUCH}}}`],
  ["a reranking", "/v1/rerank", { query: "hello", documents: ["a"] }, `{"usage":{"prompt_tokens":${MUCH}}}`],
])("of %s is not believed: the estimate counts, and an alert says so", async (_what, path, body, answer) => {
  const world = new TestPipeline();
  world.model = modelOf(speaking(path));
  const type = answer.startsWith("data:") ? "text/event-stream" : "application/json";
  world.upstream = async () => new Response(answer, { headers: { "content-type": type } });
  const received = world.received({ body: JSON.stringify({ model: "tiny", ...body }) }, path);
  const response = await (path === "/v1/rerank" ? runOther : run)(received);
  expect(response.status).toBe(200);
  await response.text();
  await world.settled();
  const [request] = world.requests;
  const { inputTokens, outputTokens, costUsd } = request?.estimate ?? {};
  expect(world.permit.settlement?.row).toMatchObject({
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cost_usd: costUsd,
    cached_tokens: 0,
    reasoning_tokens: 0,
  });
  expect(world.alerts).toMatchObject([
    {
      issueKey: "budget_amount_refused",
      detail: expect.stringMatching(/^tiny: its upstream reported .* the estimate is billed$/),
    },
  ]);
});

it("of a transcription is not believed: the minute that was reserved counts", async () => {
  const world = new TestPipeline();
  const { prices } = modelOf();
  world.model = modelOf({ prices: { ...prices, input_second: 0.5 } });
  world.upstream = async () => Response.json({ text: "hello", duration: 1e12 });
  const form = new FormData();
  form.set("model", "tiny");
  form.set("file", new Blob(["sound"]), "a.wav");
  const headers = { authorization: world.received().request.headers.get("authorization") ?? "" };
  const response = await run(world.received({ body: form, headers }, "/v1/audio/transcriptions"));
  await response.text();
  await world.settled();
  expect(world.permit.settlement?.row).toMatchObject({ input_seconds: 60, cost_usd: 30 });
  expect(world.alerts).toMatchObject([{ issueKey: "budget_amount_refused" }]);
});

/**
 * The written form of a translated call is bounded, and counted as long as it lives
 * (docs/rules/upstream-calls.md#translated-calls).
 */
import { beforeEach, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { modelOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { MemoryBudget } from "../call/memory/memory-budget.ts";
import { run } from "../run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const CHAT_ANSWER = { choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }] };
/** Each takes five bytes, and 22 where it is written. */
const numbers = (count: number): string => `[${Array.from({ length: count }, () => "1e20").join(",")}]`;

function translating(): TestPipeline {
  const world = new TestPipeline();
  world.model = modelOf({ responses_api: "translated" });
  world.maxBodyBytes = 64 * 1024 * 1024;
  world.upstream = async () => Response.json(CHAT_ANSWER);
  return world;
}

it("a body that would be written too long is 413, and nothing is sent", async () => {
  const world = translating();
  const body = `{"model":"tiny","input":"hi","list":${numbers(550_000)}}`;
  const response = await run(world.received({ body }, "/v1/responses"));
  expect({
    isSmaller: body.length < 4 * 1024 * 1024,
    status: response.status,
    code: (await response.text()).includes("request_too_large"),
    calls: world.upstreamCalls.length,
    leftBytes: world.memory.bodyMemory.usedBytes,
  }).toEqual({ isSmaller: true, status: 413, code: true, calls: 0, leftBytes: 0 });
});

it("a body that is longer when it is written is counted as it is written", async () => {
  const world = translating();
  let heldBytes = 0;
  let sentBytes = 0;
  world.upstream = async ({ body }) => {
    heldBytes = world.memory.bodyMemory.usedBytes;
    sentBytes = (await new Response(body as ReadableStream<Uint8Array>).arrayBuffer()).byteLength;
    return Response.json(CHAT_ANSWER);
  };
  const body = `{"model":"tiny","input":"hi","list":${numbers(30_000)}}`;
  const { status } = await run(world.received({ body }, "/v1/responses"));
  expect({ status, heldBytes, sentBytes, isCounted: heldBytes - body.length > 0.99 * sentBytes }).toEqual({
    status: 200,
    heldBytes,
    sentBytes,
    isCounted: true,
  });
});

it("a limit of a call is sent under one name, once", async () => {
  const world = translating();
  const limits = { max_output_tokens: 1, max_completion_tokens: 2, max_tokens: 100_000 };
  await run(world.received({ body: JSON.stringify({ model: "tiny", input: "hi", ...limits }) }, "/v1/responses"));
  const sent = await new Response(world.upstreamCalls[0]?.body as Uint8Array<ArrayBuffer>).text();
  expect(sent.match(/"max_\w+":\d+/g)).toEqual(['"max_tokens":1']);
});

it("an answer that grows beyond the memory for answers is 503, and its memory comes back", async () => {
  const world = new TestPipeline();
  world.model = modelOf({ api_dialect: "anthropic" });
  world.memory.answerMemory = new MemoryBudget(2_000_000);
  const answer = `{"content":[{"type":"tool_use","id":"c","name":"f","input":{"list":${numbers(200_000)}}}]}`;
  world.upstream = async () => new Response(answer, { headers: { "content-type": "application/json" } });
  const response = await run(world.received());
  await response.text();
  await world.settled();
  expect({ status: response.status, leftBytes: world.memory.answerMemory.usedBytes }).toEqual({
    status: 503,
    leftBytes: 0,
  });
});

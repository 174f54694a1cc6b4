/**
 * The errors of a translated call for bodies and answers that cannot be translated
 * (docs/rules/upstream-calls.md#translated-calls).
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { modelOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";
import { MemoryBudget } from "../call/memory/memory-budget.ts";
import { run } from "../run.ts";
import { isSpoken } from "./translated-call.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const MESSAGE = { type: "message", id: "msg_1", model: "m", content: [{ type: "text", text: "hi" }], usage: {} };
const json = { "content-type": "application/json" };

/** The client's answer for a chat completion if a model of Anthropic's API answers so, and the row. */
async function answered(answer: () => Response, more: object = {}) {
  const world = new TestPipeline();
  world.model = modelOf({ api_dialect: "anthropic" });
  world.maxBodyBytes = 64 * 1024 * 1024;
  world.upstream = async () => answer();
  let failed = 0;
  world.memory.endpoints.failed = () => {
    failed += 1;
  };
  const body = { model: "tiny", messages: [{ role: "user", content: "hello" }], ...more };
  const response = await run(world.received({ body: JSON.stringify(body) }));
  const text = await response.text().catch(() => "broken");
  await world.settled();
  return {
    status: response.status,
    text,
    calls: world.upstreamCalls,
    row: world.permit.settlement?.row,
    alerts: world.alerts,
    failed,
  };
}

it("a body that would fill the memory is refused, and nothing is sent", async () => {
  const content = "x".repeat(11 * 1024 * 1024);
  const { status, text, calls } = await answered(() => Response.json(MESSAGE), {
    messages: [{ role: "user", content }],
  });
  expect({ status, code: text.includes("request_too_large"), calls: calls.length }).toEqual({
    status: 413,
    code: true,
    calls: 0,
  });
});

it.each([
  ["text", "x".repeat(2 * 1024 * 1024), 2 * 1024 * 1024, 4 * 1024 * 1024],
  ["many values", Array.from({ length: 40_000 }, () => ({ type: "text", text: "x" })), 1024 * 1024, 8 * 1024 * 1024],
])(
  "a body of %s takes memory of its tenant's bodies, less after it is translated",
  { tags: ["check"] },
  async (_, content, least, most) => {
    const world = new TestPipeline();
    world.model = modelOf({ api_dialect: "anthropic" });
    world.maxBodyBytes = 64 * 1024 * 1024;
    const { bodyMemory, answerMemory } = world.memory;
    let mostBytes = 0;
    const open = bodyMemory.open.bind(bodyMemory);
    bodyMemory.open = (...terms) => {
      const opened = open(...terms);
      const reserve = async (bytes: number, isForValues?: boolean) => {
        const isReserved = await opened.reserve(bytes, isForValues);
        mostBytes = Math.max(mostBytes, bodyMemory.usedBytes);
        return isReserved;
      };
      return { ...opened, reserve };
    };
    let held = { bodyBytes: 0, answerBytes: 0 };
    world.upstream = async () => {
      held = { bodyBytes: bodyMemory.usedBytes, answerBytes: answerMemory.usedBytes };
      return Response.json(MESSAGE);
    };
    const body = JSON.stringify({ model: "tiny", messages: [{ role: "user", content }] });
    const response = await run(world.received({ body }));
    await response.text();
    const [sent] = world.upstreamCalls;
    const sentBytes = (await new Response(sent?.body as ReadableStream<Uint8Array>).arrayBuffer()).byteLength;
    expect({ status: response.status, answerBytes: held.answerBytes, leftBytes: bodyMemory.usedBytes }).toEqual({
      status: 200,
      answerBytes: 0,
      leftBytes: 0,
    });
    const { bodyBytes } = held;
    const countedBytes = bodyBytes - sentBytes;
    expect({
      countedBytes,
      mostBytes,
      isCounted: countedBytes >= least,
      areValues: mostBytes >= Math.max(most, 2 * countedBytes),
    }).toEqual({
      countedBytes,
      mostBytes,
      isCounted: true,
      areValues: true,
    });
  },
);

it("bodies of one tenant that do not fit together are translated one after the other", {
  tags: ["check"],
}, async () => {
  const { memory } = new TestPipeline();
  const content = "x".repeat(9 * 1024 * 1024);
  let mostBytes = 0;
  const statuses = [1, 2, 3].map(async () => {
    const world = Object.assign(new TestPipeline(), { memory, maxBodyBytes: 64 * 1024 * 1024 });
    world.model = modelOf({ api_dialect: "anthropic" });
    world.upstream = async () => {
      mostBytes = Math.max(mostBytes, memory.bodyMemory.usedBytes);
      return Response.json(MESSAGE);
    };
    const body = JSON.stringify({ model: "tiny", messages: [{ role: "user", content }] });
    return (await run(world.received({ body }))).status;
  });
  expect(await Promise.all(statuses)).toEqual([200, 200, 200]);
  expect({ mostBytes, isBounded: mostBytes < 64 * 1024 * 1024, leftBytes: memory.bodyMemory.usedBytes }).toEqual({
    mostBytes,
    isBounded: true,
    leftBytes: 0,
  });
});

it("an answer that there is no memory to translate is 503, and costs nothing", async () => {
  const world = new TestPipeline();
  world.model = modelOf({ api_dialect: "anthropic" });
  world.memory.answerMemory = new MemoryBudget(1_000);
  world.upstream = async () => Response.json({ ...MESSAGE, more: "x".repeat(2_000) });
  const response = await run(world.received());
  await world.settled();
  const retryAfter = response.headers.get("retry-after");
  expect({ status: response.status, retryAfter, row: world.permit.settlement?.row }).toMatchObject({
    status: 503,
    retryAfter: "1",
    row: { status_code: 503, error_code: "scheduler_unavailable", cost_usd: 0 },
  });
});

it.each([
  ["that is no JSON", () => new Response("hello", { headers: json })],
  ["that is a list", () => Response.json([MESSAGE])],
  ["of nothing that is known", () => Response.json({ id: "a" })],
  ["in a coding that nobody reads", () => new Response("{}", { headers: { ...json, "content-encoding": "xz" } })],
  ["that is too large", () => Response.json({ ...MESSAGE, more: "x".repeat(5 * 1024 * 1024) })],
])("an answer %s is upstream_failed, and costs nothing", async (_, answer) => {
  const { status, text, row } = await answered(answer);
  expect({ status, code: text.includes("upstream_failed"), cost: row?.cost_usd }).toEqual({
    status: 502,
    code: true,
    cost: 0,
  });
});

it.each([
  ["in HTML", 400, () => new Response("<html>", { status: 400, headers: { "content-type": "text/html" } })],
  ["that never ends within 64 KiB", 404, () => new Response("x".repeat(100_000), { status: 404, headers: json })],
  ["without a body", 403, () => new Response(null, { status: 403 })],
])("a refusal %s keeps its status, in the client's form", async (_, expected, answer) => {
  const { status, text } = await answered(answer);
  expect({ status, error: (JSON.parse(text) as { error: object }).error }).toMatchObject({
    status: expected,
    error: { message: expect.stringContaining(String(expected)) },
  });
});

it("a stream without its own end owes what was seen, and its endpoint has failed", async () => {
  const event = (type: string, more: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const content = { index: 0, delta: { type: "text_delta", text: "hi" } };
  const begun = [
    event("message_start", { message: { ...MESSAGE, content: [] } }),
    event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    event("content_block_delta", content),
  ].join("");
  const { text, row, alerts, failed } = await answered(
    () => new Response(begun, { headers: { "content-type": "text/event-stream" } }),
    { stream: true, max_tokens: 8_000 },
  );
  expect({ isTold: text.includes("upstream_stream_error"), isSeenOnly: (row?.output_tokens ?? 8_000) < 100 }).toEqual({
    isTold: true,
    isSeenOnly: true,
  });
  expect({ code: row?.error_code, alerts, failed }).toMatchObject({
    code: "upstream_stream_error",
    alerts: [{ detail: expect.stringContaining("connection broke") }],
    failed: 1,
  });
});

it("a refusal that becomes 502 has the type of that status", async () => {
  const world = new TestPipeline();
  world.upstream = async () => new Response("{}", { status: 503 });
  const response = await run(world.received({}, "/v1/messages"));
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 502,
    body: { type: "error", error: { type: "api_error" } },
  });
});

it.each([
  ["/v1/chat/completions", true],
  ["/v1/messages", true],
  ["/v1/messages/count_tokens", true],
  ["/v1/threads/a/messages", false],
  ["/v1/responses", true],
  ["/v1/responses/input_tokens", false],
  ["/v1/completions", false],
])("whether a model of Anthropic's API answers %s: %s", (path, spoken) => {
  expect(isSpoken(path, { api_dialect: "anthropic", responses_api: "native" })).toBe(spoken);
});

it("a call in the API of its model goes byte for byte", async () => {
  const world = new TestPipeline();
  world.model = modelOf({ api_dialect: "anthropic", upstream_model: "tiny" });
  world.upstream = async () => Response.json({ ...MESSAGE, odd: "é" });
  const body = '{ "model":"tiny",  "messages":[{"role":"user","content":"\\u00e9"}], "max_tokens":1e1 }';
  const response = await run(world.received({ body }, "/v1/messages"));
  expect(await response.json()).toEqual({ ...MESSAGE, odd: "é" });
  const sent = await new Response(world.upstreamCalls[0]?.body as Uint8Array<ArrayBuffer>).text();
  expect(sent).toBe(body);
});

it.each([
  [{}, 4096],
  [{ max_tokens: 20_000 }, 20_000],
])("a chat completion with %j reserves what its message may produce", async (more, outputTokens) => {
  const world = new TestPipeline();
  world.model = modelOf({ api_dialect: "anthropic" });
  world.upstream = async () => Response.json(MESSAGE);
  const body = JSON.stringify({ model: "tiny", messages: [{ role: "user", content: "hello" }], ...more });
  await run(world.received({ body }));
  const { need, estimate } = world.requests[0] as AdmissionRequest;
  const sent = await new Response(world.upstreamCalls[0]?.body as Uint8Array<ArrayBuffer>).json();
  expect({ reserved: need.termTokens - estimate.inputTokens, sent }).toMatchObject({
    reserved: outputTokens,
    sent: { max_tokens: outputTokens },
  });
});

const LIMITED = [
  ["/v1/messages", { max_tokens: 9, messages: [{ role: "user", content: "hello" }] }],
  ["/v1/responses", { max_output_tokens: 9, input: "hello" }],
] as const;

describe.each(LIMITED)("the limit of a call of %s to a model of chat completions", (path, members) => {
  const CHAT_ANSWER = { choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }] };
  const bodyWith = (more: object): string => JSON.stringify({ model: "tiny", ...members, ...more });

  /** The limits of the calls that two requests make of an upstream that refuses `max_tokens` so; null: it does not. */
  async function limitsAt(refusal: string | null, more: object = {}) {
    const world = new TestPipeline();
    world.model = modelOf({ responses_api: "translated" });
    const sent: object[] = [];
    world.upstream = async (call) => {
      const { max_tokens, max_completion_tokens } = (await new Response(
        call.body as Uint8Array<ArrayBuffer>,
      ).json()) as Readonly<Record<string, unknown>>;
      sent.push({ max_tokens, max_completion_tokens });
      const isRefused = refusal !== null && max_tokens !== undefined;
      return isRefused ? new Response(refusal, { status: 400 }) : Response.json(CHAT_ANSWER);
    };
    const statuses = [];
    for (let times = 0; times < 2; times += 1)
      statuses.push((await run(world.received({ body: bodyWith(more) }, path))).status);
    return { sent, statuses };
  }

  it("is max_tokens, which most servers know", async () => {
    expect(await limitsAt(null)).toEqual({ sent: [{ max_tokens: 9 }, { max_tokens: 9 }], statuses: [200, 200] });
  });

  it("is max_completion_tokens for a model that asks for it, at once the second time", async () => {
    const refusal = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
    const newer = { max_completion_tokens: 9 };
    expect(await limitsAt(refusal)).toEqual({ sent: [{ max_tokens: 9 }, newer, newer], statuses: [200, 200] });
  });

  it("stays max_tokens where its number is refused", async () => {
    const { sent, statuses } = await limitsAt("max_tokens is too large");
    expect({ sent, statuses }).toEqual({ sent: [{ max_tokens: 9 }, { max_tokens: 9 }], statuses: [400, 400] });
  });

  const schema = { type: "object", properties: { max_completion_tokens: {} } };
  it.each<[string, object]>([
    ["a text", { [path === "/v1/messages" ? "system" : "instructions"]: "max_completion_tokens" }],
    [
      "a name",
      {
        tools: [
          path === "/v1/messages"
            ? { name: "a", input_schema: schema }
            : { type: "function", name: "a", parameters: schema },
        ],
      },
    ],
  ])("stays max_tokens where the error may repeat %s of the request", async (_, more) => {
    const message = "max_tokens is too large for max_completion_tokens";
    const error = { message, param: "max_tokens", code: "invalid_value" };
    for (const refusal of [JSON.stringify({ error }), error.message])
      expect(await limitsAt(refusal, more)).toEqual({
        sent: [{ max_tokens: 9 }, { max_tokens: 9 }],
        statuses: [400, 400],
      });
  });

  it("stays max_tokens where the error says the other name only in what it repeats", async () => {
    const repeated = { detail: [{ loc: ["body", "max_tokens"], msg: "too large", input: "max_completion_tokens" }] };
    expect((await limitsAt(JSON.stringify(repeated))).statuses).toEqual([400, 400]);
  });

  it("is max_completion_tokens for a text about it if the error calls the parameter unsupported", async () => {
    const message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
    const error = { message, param: "max_tokens", code: "unsupported_parameter" };
    const { sent, statuses } = await limitsAt(JSON.stringify({ error }), { system: "Explain max_completion_tokens" });
    const newer = { max_completion_tokens: 9 };
    expect({ sent, statuses }).toEqual({ sent: [{ max_tokens: 9 }, newer, newer], statuses: [200, 200] });
  });
});

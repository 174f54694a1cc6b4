/**
 * Public reports about other gateways, tried here: what is counted and billed, what is tried again, and what is kept apart
 * (docs/known-reports.md).
 *
 * @module-tag check
 */
import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { chatEvents, eventStream, jsonAnswer, namedEvents } from "../harness/http-sink.ts";
import { CHAT, CHAT_ANSWER, chatUsage, post, reportUpstream, rowOf } from "../harness/report-upstream.ts";
import { speaking } from "../harness/speaking.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const STREAM = { ...CHAT, stream: true };
const HELLO = { choices: [{ index: 0, delta: { content: "hello" }, finish_reason: null }] };

/** The row of a stream with this text. */
async function rowOfStream(text: string, path = "/v1/chat/completions") {
  const sink = await reportUpstream(() => eventStream(text));
  const minted = await fixture.gateway.mint(sink.url, "plain", speaking(path));
  const answer = await post(fixture.gateway, minted, path, { ...STREAM, input: "a" });
  return { text: answer.text, row: await rowOf(fixture.gateway, minted, answer) };
}

const chat = async (minted: Minted, body: object = {}) =>
  await post(fixture.gateway, minted, "/v1/chat/completions", { ...CHAT, ...body });

describe("the usage of a stream", () => {
  const started = (usage: object) => ({ type: "message_start", message: { usage } });
  const delta = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hello" } };
  const ended = (usage: object) => ({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage });
  const stop = { type: "message_stop" };

  it.each([
    [
      "is the last one of messages, not the sum",
      namedEvents(started({ input_tokens: 25, output_tokens: 1 }), delta, ended({ output_tokens: 15 }), stop),
      { input_tokens: 25, output_tokens: 15 },
    ],
    [
      "is read from the end of messages when their beginning has none",
      namedEvents(
        started({ input_tokens: 0, output_tokens: 0 }),
        delta,
        ended({ input_tokens: 4522, cache_creation_input_tokens: 4511, output_tokens: 5 }),
        stop,
      ),
      { input_tokens: 9033, output_tokens: 5 },
    ],
    [
      "is read of messages that end with the mark of chat",
      `${namedEvents(started({ input_tokens: 25, output_tokens: 1 }), delta, ended({ output_tokens: 15 }))}data: [DONE]\n\n`,
      { input_tokens: 25, output_tokens: 15 },
    ],
  ])("%s", async (_, text, expected) => {
    const seen = await rowOfStream(text, "/v1/messages");
    expect(seen).toMatchObject({ text, row: expected });
  });

  const cached = { ...chatUsage(1816, 64), prompt_tokens_details: { cached_tokens: 1792, text_tokens: 0 } };
  const impossible = { ...chatUsage(56322, 87), prompt_tokens_details: { cached_tokens: 72960 } };
  const many = [10, 50, 100].map((output) => ({ ...HELLO, usage: chatUsage(64, output) }));
  it.each([
    ["in every event is the last one", chatEvents(...many), { input_tokens: 64, output_tokens: 100 }],
    [
      "has its cached part",
      chatEvents(HELLO, { choices: [], usage: cached }),
      { input_tokens: 1816, output_tokens: 64, cached_tokens: 1792 },
    ],
    [
      "has no part larger than the whole",
      chatEvents(HELLO, { choices: [], usage: impossible }),
      { input_tokens: 56322, output_tokens: 87, cached_tokens: 56322, cost_usd: 56.322 + 0.87 },
    ],
    [
      "is read from lines that end in CR LF and have no space",
      chatEvents(HELLO, { choices: [], usage: chatUsage(11, 22) })
        .replaceAll("\n", "\r\n")
        .replaceAll("data: ", "data:"),
      { input_tokens: 11, output_tokens: 22 },
    ],
    [
      "is read behind an event of 2 MiB",
      chatEvents(
        { choices: [{ index: 0, delta: { content: "a".repeat(2 ** 21) } }] },
        { choices: [], usage: chatUsage(11, 22) },
      ),
      { input_tokens: 11, output_tokens: 22 },
    ],
  ])("%s", async (_, text, expected) => {
    expect((await rowOfStream(text)).row).toMatchObject(expected);
  });

  it("is read from an event that also has an image of 2 MiB", async () => {
    const usage = { input_tokens: 7, output_tokens: 1056, total_tokens: 1063 };
    const response = { output: [{ type: "image_generation_call", result: "A".repeat(2 ** 21) }], usage };
    const text = namedEvents({ type: "response.completed", response });
    const seen = await rowOfStream(text, "/v1/responses");
    expect({ bytes: seen.text.length, row: seen.row }).toMatchObject({
      bytes: text.length,
      row: { input_tokens: 7, output_tokens: 1056 },
    });
  });

  it("is read however its event is cut", async () => {
    const text = chatEvents(HELLO, { choices: [], usage: chatUsage(11, 22) });
    const sink = await reportUpstream(() => async (response: ServerResponse) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const character of text) {
        response.write(character);
        await turn();
      }
      response.end();
    });
    const minted = await fixture.gateway.mint(sink.url);
    for (const stream_options of [undefined, { include_usage: true }]) {
      const answer = await chat(minted, { ...STREAM, stream_options });
      expect(await rowOf(fixture.gateway, minted, answer)).toMatchObject({ input_tokens: 11, output_tokens: 22 });
    }
  });
});

describe("a row", () => {
  it("is written whatever characters its request has", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const model = minted.model.model_name;
    const user = '"a\\u0000b\\ud800 \\\\u0000"';
    const body = `{"model":"${model}","user":${user},"messages":[{"role":"user","content":"\\u0000 \\udfff"}]}`;
    const answer = await post(fixture.gateway, minted, "/v1/chat/completions", body);
    expect(await rowOf(fixture.gateway, minted, answer)).toMatchObject({ status_code: 200, total_tokens: 33 });
  });
});

describe("a budget", () => {
  it("holds for requests that arrive at once", async () => {
    const sink = await reportUpstream(() => jsonAnswer(CHAT_ANSWER));
    const minted = await fixture.gateway.mint(sink.url);
    const path = `/tenants/${minted.tenant.id}/budget`;
    await fixture.gateway.must("PATCH", path, { budget_tokens: 50, budget_period: "lifetime" });
    const answers = await Promise.all(Array.from({ length: 8 }, async () => await chat(minted, { max_tokens: 22 })));
    const served = answers.filter(({ status }) => status === 200).length;
    expect({ served, asked: sink.asked.length, isBounded: served >= 1 && served <= 3 }).toEqual({
      served,
      asked: served,
      isBounded: true,
    });
  });
});

describe("an endpoint", () => {
  /** A tenant whose model has two endpoints, the first of which answers this. */
  async function withTwo(answer: Parameters<typeof reportUpstream>[0], model: object = {}) {
    const first = await reportUpstream(answer);
    const second = await reportUpstream(() => jsonAnswer(CHAT_ANSWER));
    const minted = await fixture.gateway.mint("", "plain", { ...model });
    for (const [name, sink, priority] of [
      ["a", first, 1],
      ["b", second, 2],
    ] as const)
      await fixture.gateway.must("POST", `/models/${minted.model.id}/endpoints`, {
        name,
        priority,
        api_base: `${sink.url}/v1`,
      });
    return { first, second, minted };
  }

  it("whose account has no money left hands over to the next", async () => {
    const { first, second, minted } = await withTwo(() => jsonAnswer({ error: { message: "no balance" } }, 402));
    expect((await chat(minted)).status).toBe(200);
    expect({ first: first.asked.length, second: second.asked.length }).toEqual({ first: 1, second: 1 });
  });

  it("is not blamed for mistakes of its clients", async () => {
    let status = 400;
    const { first, second, minted } = await withTwo(() => jsonAnswer(CHAT_ANSWER, status));
    for (let round = 0; round < 5; round += 1) expect((await chat(minted)).status).toBe(400);
    status = 200;
    expect((await chat(minted)).status).toBe(200);
    expect({ first: first.asked.length, second: second.asked.length }).toEqual({ first: 6, second: 0 });
  });

  it("is skipped until the date that it names, and not for an invalid date", async () => {
    for (const [date, least] of [
      [() => new Date(Date.now() + 2_000).toUTCString(), 900],
      [() => "Fri, 31 Dec 99999 23:59:59 GMT", 0],
    ] as const) {
      const limited = await reportUpstream(() =>
        limited.asked.length === 1
          ? { status: 429, headers: { "retry-after": date() }, body: "{}" }
          : jsonAnswer(CHAT_ANSWER),
      );
      const minted = await fixture.gateway.mint(limited.url, "plain", { max_retries: 1, retry_backoff_ms: 10 });
      expect((await chat(minted)).status).toBe(200);
      const [before, after] = limited.asked.map(({ atMs }) => atMs) as [number, number];
      const waitedMs = after - before;
      expect({ waitedMs, isLongEnough: waitedMs >= least && waitedMs < 5_000 }).toEqual({
        waitedMs,
        isLongEnough: true,
      });
    }
  });
});

describe("the response cache", () => {
  it("keeps tenants, models and everything that a request says apart", async () => {
    const sink = await reportUpstream(() => jsonAnswer(CHAT_ANSWER));
    const mint = async () => await fixture.gateway.mint(sink.url, "plain", { cache_enabled: true });
    const minted = await mint();
    const cacheOf = async (caller: Minted, body: object) => (await chat(caller, body)).headers.get("x-gateway-cache");
    await waitFor(
      async () => await cacheOf(minted, {}),
      (cache) => cache === "hit",
    );
    for (const body of [
      { stop: ["a"] },
      { seed: 1 },
      { reasoning_effort: "high" },
      { response_format: { type: "json_object" } },
      { tools: [{ type: "function", function: { name: "f" } }] },
      { service_tier: "priority" },
    ])
      expect({ body, cache: await cacheOf(minted, body) }).toEqual({ body, cache: "miss" });
    const other = await mint();
    expect(await cacheOf({ ...other, model: minted.model }, {})).toBe("miss");
    expect(await cacheOf({ ...minted, model: other.model }, {})).toBe("miss");
  });
});

describe("guardrails", () => {
  const KEYWORD = "the blue falcon";
  const guarded = async (url: string, scanners: object, path = "") => {
    const minted = await fixture.gateway.mint(url, "plain", speaking(path));
    const policy = { ban_keywords: ["blue falcon"], ...scanners };
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/guardrails`, { policy });
    return minted;
  };

  it("read streams of messages, and every choice of chat", async () => {
    const text = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: KEYWORD } };
    const start = { type: "message_start", message: { role: "assistant", content: [] } };
    const choice = (index: number, content: string) => ({ index, message: { role: "assistant", content } });
    const sink = await reportUpstream(({ url }) =>
      url.endsWith("/messages")
        ? eventStream(namedEvents(start, text, { type: "message_stop" }))
        : jsonAnswer({ ...CHAT_ANSWER, choices: [choice(0, "fine"), choice(1, KEYWORD)] }),
    );
    const scanners = { output_scanners: ["ban_keywords"] };
    const minted = await guarded(sink.url, scanners);
    const messages = await guarded(sink.url, scanners, "/v1/messages");
    for (const answer of [await post(fixture.gateway, messages, "/v1/messages", STREAM), await chat(minted, { n: 2 })])
      expect({ status: answer.status, isShown: answer.text.includes("falcon") }).toEqual({
        status: 400,
        isShown: false,
      });
  });

  it("read results of tools, and members beside the content", async () => {
    const sink = await reportUpstream(() => jsonAnswer(CHAT_ANSWER));
    const minted = await guarded(sink.url, { input_scanners: ["ban_keywords"] });
    const parts = [{ type: "text", text: KEYWORD }];
    const result = { type: "tool_result", tool_use_id: "1", content: parts };
    for (const message of [
      { role: "user", content: [result] },
      { role: "user", content: "hi", content_blocks: parts },
      { role: "tool", tool_call_id: "1", content: parts },
    ])
      for (const path of ["/v1/messages", "/v1/chat/completions"]) {
        const { status } = await post(fixture.gateway, minted, path, { messages: [message] });
        expect({ path, message, status, sent: sink.asked.filter(({ body }) => body.includes("falcon")) }).toMatchObject(
          {
            path,
            message,
            sent: [],
          },
        );
      }
  });
});

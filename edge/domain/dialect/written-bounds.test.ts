/**
 * The translated form of a call is bounded by the size of the original, and counted
 * (docs/rules/upstream-calls.md#translated-calls).
 */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { atOnce, type Steps } from "../../../shared/steps.ts";
import type { JsonObject } from "../wire/json/document.ts";
import type { Translation } from "./contract.ts";
import { type Dialect, translationOf } from "./translation.ts";
import { objectOf } from "./values.ts";

const [CHAT, MESSAGES, RESPONSES] = ["/v1/chat/completions", "/v1/messages", "/v1/responses"];
/** The most that a body grows by: very many custom tools get a schema, which they lack, and their namespace. */
const FACTOR = 10;
const ROOM_BYTES = 100_000;

function translation(path: string, dialect: Dialect): Translation {
  const found = translationOf(path, dialect, { createdSecs: 1, usageAsked: true });
  if (found === null) throw new Error("no translation");
  return found;
}

const bytesOf = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).byteLength;
const many = <T>(length: number, one: (at: number) => T): readonly T[] => Array.from({ length }, (_, at) => one(at));

function refusalOf(work: Steps<unknown>): unknown {
  try {
    atOnce(work);
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code, param } = error.body.error;
    return { code, param };
  }
}

/** Counts the output, and throws when there is no room for more. */
function counter() {
  let bytes = 0;
  return {
    take: (more: number): void => {
      bytes += more;
      if (bytes > ROOM_BYTES) throw new GatewayError("request_too_large");
    },
    get bytes() {
      return bytes;
    },
  };
}

const namespaced = (name: string, type = "function") => ({
  model: "m",
  input: "hi",
  tools: [{ type: "namespace", name, tools: many(1_000, (at) => ({ type, name: `a${String(at).padStart(4, "0")}` })) }],
});

describe("a request of Responses", () => {
  it.each(["function", "custom"])("has names of %s tools of 128 characters with their namespace", (type) => {
    const request = (body: JsonObject) => translation(RESPONSES, "openai").request(body);
    const longest = namespaced("n".repeat(128 - "__a0000".length), type);
    const written = bytesOf(atOnce(request(longest)));
    expect({ written, isBounded: written < FACTOR * bytesOf(longest) }).toEqual({ written, isBounded: true });
    const refused = { code: "untranslatable_field", param: "tools.0.tools.0.name" };
    expect(refusalOf(request(namespaced("n".repeat(122), type)))).toEqual(refused);
    expect(refusalOf(request({ ...longest, tools: [{ type, name: "n".repeat(129) }] }))).toEqual({
      ...refused,
      param: "tools.0.name",
    });
  });

  it.each<[JsonObject, number]>([
    [{ max_output_tokens: 1, max_completion_tokens: 2, max_tokens: 3 }, 1],
    [{ max_completion_tokens: 2, max_tokens: 3 }, 2],
    [{ max_tokens: 3 }, 3],
  ])("has one limit of its answer: %j", (limits, limit) => {
    const body = { model: "m", input: "hi", ...limits };
    const { max_tokens, max_completion_tokens } = atOnce(translation(RESPONSES, "openai").request(body));
    const messages = atOnce(translation(RESPONSES, "anthropic").request(body));
    expect({ max_tokens, max_completion_tokens, ofMessages: messages["max_tokens"] }).toEqual({
      max_tokens: undefined,
      max_completion_tokens: limit,
      ofMessages: limit,
    });
  });

  it("is repeated by its answer only as far as it is short", () => {
    const long = translation(RESPONSES, "openai");
    atOnce(long.request({ model: "m", input: "hi", reasoning: { effort: "e".repeat(10_000) } }));
    const answer = atOnce(long.answer({ id: "c", choices: [{ message: { content: "a" } }] }));
    expect(answer["reasoning"]).toEqual({ effort: null, summary: null });
  });
});

describe("numbers that are longer as JSON than they came", () => {
  const input = { list: many(20_000, () => 1e20) };

  it("count as written in the arguments of a request's calls", () => {
    const content = [{ type: "tool_use", id: "c", name: "f", input }];
    const body = { model: "m", max_tokens: 1, messages: [{ role: "assistant", content }] };
    const { take } = counter();
    expect(refusalOf(translation(MESSAGES, "openai").request(body, take))).toMatchObject({ code: "request_too_large" });
  });

  it.each<[string, string, Dialect, JsonObject]>([
    ["of Messages", CHAT, "anthropic", { id: "c", content: [{ type: "tool_use", id: "c", name: "f", input }] }],
    [
      "of chat completions",
      RESPONSES,
      "openai",
      { id: "c", choices: [{ message: { tool_calls: [{ id: "c", function: { name: "f", arguments: input } }] } }] },
    ],
  ])("count as written in the arguments of an answer's calls %s", (_, path, dialect, answer) => {
    const { take } = counter();
    expect(refusalOf(translation(path, dialect).answer(answer, take))).toMatchObject({ code: "request_too_large" });
  });
});

describe("very many calls in an answer of chat completions", () => {
  const id = "i".repeat(256);

  it("are no answer of Messages", () => {
    const answered = (calls: number) =>
      translation(MESSAGES, "openai").answer({
        id,
        choices: [{ message: { tool_calls: many(calls, () => ({ function: { name: "f" } })) } }],
      });
    const written = bytesOf(atOnce(answered(256)));
    expect({ written, isBounded: written < 256 * 200, refused: refusalOf(answered(257)) }).toEqual({
      written,
      isBounded: true,
      refused: { code: "upstream_failed", param: null },
    });
  });

  it.each([MESSAGES, RESPONSES])("have short ids in a stream: %s", (path) => {
    const stream = translation(path, "openai").stream();
    const calls = many(100, (index) => ({ index, function: { name: "f", arguments: "{}" } }));
    const text = atOnce(stream.event(null, JSON.stringify({ id, choices: [{ delta: { tool_calls: calls } }] })));
    expect(text.includes(`${"i".repeat(65)}_`)).toBe(false);
  });
});

describe("a stream", () => {
  const long = "x".repeat(10_000);
  const call = (index: number, input: string) => ({
    index,
    id: `c${index}`,
    function: { name: "f", arguments: input },
  });

  it("counts what of Messages waits for its turn", () => {
    const stream = translation(MESSAGES, "openai").stream();
    const calls = [call(0, '{"a":"'), call(1, long)];
    atOnce(stream.event(null, JSON.stringify({ id: "c", choices: [{ delta: { tool_calls: calls } }] })));
    expect(stream.keptBytes).toBeGreaterThanOrEqual(long.length * 2);
  });

  it.each<[string, JsonObject]>([
    ["thinking", { type: "content_block_delta", delta: { thinking: long } }],
    ["a signature", { type: "content_block_delta", delta: { signature: long } }],
    ["arguments", { type: "content_block_start", content_block: { type: "tool_use", input: { long } } }],
    ["why it stopped", { type: "message_delta", delta: { stop_details: { explanation: long } } }],
  ])("counts what of chat completions waits for its turn: %s", (_, event) => {
    const stream = translation(CHAT, "anthropic").stream();
    for (const one of [{ type: "content_block_start", content_block: { type: "thinking" } }, event])
      atOnce(stream.event(null, JSON.stringify(one)));
    expect(stream.keptBytes).toBeGreaterThanOrEqual(long.length * 2);
  });

  it("keeps the counts of its usage alone", () => {
    const stream = translation(CHAT, "anthropic").stream();
    const usage = { input_tokens: 3, output_tokens: 4, output_tokens_details: { thinking_tokens: 2, long } };
    for (const one of [
      { type: "message_start", message: { id: "m", usage: { ...usage, service_tier: long } } },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
    ])
      atOnce(stream.event(null, JSON.stringify(one)));
    const text = atOnce(stream.event(null, '{"type":"message_stop"}'));
    expect({ isShort: text.length < 1_000, ofUsage: /"usage":(\{.*?\}\})/.exec(text)?.[1] }).toEqual({
      isShort: true,
      ofUsage: expect.stringContaining('"completion_tokens":5,"total_tokens":8'),
    });
  });

  it("of Responses counts the texts of its end before it writes them all", () => {
    const { take } = counter();
    const stream = translation(RESPONSES, "openai").stream(take);
    atOnce(stream.event(null, JSON.stringify({ id: "c", choices: [{ delta: { content: "\u0001".repeat(5_000) } }] })));
    expect(refusalOf(stream.event(null, "[DONE]"))).toMatchObject({ code: "request_too_large" });
  });

  it("of Responses counts what it writes", () => {
    const count = counter();
    const stream = translation(RESPONSES, "openai").stream(count.take);
    const text = atOnce(stream.event(null, JSON.stringify({ id: "c", choices: [{ delta: { content: "a" } }] })));
    expect(objectOf({ bytes: count.bytes })).toEqual({ bytes: text.length });
  });
});

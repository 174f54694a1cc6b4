/** Requests and answers that are made to be much work (docs/rules/request-bodies.md#work, docs/rules/dialects.md#streams). */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { atOnce } from "../../../shared/steps.ts";
import { StreamComposer } from "../tools/stream-composer.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { synthesizeStream } from "../wire/sse/synthesize-stream.ts";
import type { StreamTranslation } from "./contract.ts";
import { messagesAnswer } from "./to-messages/answer.ts";
import { translationOf } from "./translation.ts";

const OPTIONS = { createdSecs: 1, maxTokens: null, usageAsked: true };
const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const EVENTS = 200;
const LONG = "x".repeat(64 * 1024);
const HEADS: readonly (readonly [string, unknown])[] = [
  ["a long text", LONG],
  ["a list", Array.from(LONG, () => 0)],
  ["an object", { inner: LONG }],
];

function translated(path: string, body: JsonObject): JsonObject {
  const translation = translationOf(path, path === CHAT ? "anthropic" : "openai", OPTIONS);
  if (translation === null) throw new Error("no translation");
  return atOnce(translation.request(body));
}

function refusalOf(path: string, body: JsonObject): { readonly status: number; readonly param: string | null } | null {
  try {
    translated(path, body);
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { status: error.status, param: error.body.error.param ?? null };
  }
}

function streamOf(path: string): StreamTranslation {
  const translation = translationOf(path, path === CHAT ? "anthropic" : "openai", OPTIONS);
  if (translation === null) throw new Error("no translation");
  return translation.stream();
}

/** The characters that come in and go out. */
function lengths(
  take: (data: string) => string,
  events: readonly object[],
): { readonly given: number; readonly sent: number } {
  const data = events.map((event) => JSON.stringify(event));
  return {
    given: data.reduce((sum, { length }) => sum + length, 0),
    sent: data.reduce((sum, one) => sum + take(one).length, 0),
  };
}

describe("a stream whose upstream writes a large id or model", () => {
  it.each(HEADS)("repeats it in no chunk of a message: %s", (_, head) => {
    const stream = streamOf(CHAT);
    const block = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
    const delta = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } };
    const { given, sent } = lengths(
      (data) => atOnce(stream.event(null, data)),
      [
        { type: "message_start", message: { id: head, model: head } },
        block,
        ...Array.from({ length: EVENTS }, () => delta),
      ],
    );
    expect(sent).toBeLessThan(given + EVENTS * 256);
  });

  it.each(HEADS)("repeats it in no call of a chat completion: %s", (_, head) => {
    const stream = streamOf(MESSAGES);
    const calls = Array.from({ length: 60 }, (__, index) => ({
      choices: [{ index: 0, delta: { tool_calls: [{ index, function: { name: "f", arguments: "{}" } }] } }],
    }));
    const [first, ...rest] = calls;
    const { given, sent } = lengths(
      (data) => atOnce(stream.event(null, data)),
      [{ id: head, model: head, ...first }, ...rest],
    );
    expect(sent).toBeLessThan(2 * given);
  });

  it.each(HEADS)("repeats it in no event of the Responses API: %s", (_, head) => {
    const stream = streamOf("/v1/responses");
    const chunk = { choices: [{ index: 0, delta: { content: "a" } }] };
    const { given, sent } = lengths(
      (data) => atOnce(stream.event(null, data)),
      [{ id: head, model: head, ...chunk }, ...Array.from({ length: EVENTS }, () => chunk)],
    );
    expect(sent).toBeLessThan(given + EVENTS * 512);
  });

  it.each(HEADS)("repeats it in no call of an answer: %s", (_, head) => {
    const calls = Array.from({ length: 60 }, () => ({ function: { name: "f", arguments: "{}" } }));
    const answer = { id: head, model: head, choices: [{ index: 0, message: { tool_calls: calls } }] };
    const sent = JSON.stringify(atOnce(messagesAnswer(answer))).length;
    expect(sent).toBeLessThan(2 * JSON.stringify(answer).length);
  });

  it.each(HEADS)("repeats it in no chunk of a tool loop: %s", (_, head) => {
    const composer = new StreamComposer({ owned: new Set(), usageAsked: true, turnMaxCharacters: 1024 * 1024 });
    const chunk = { choices: [{ index: 0, delta: { content: "a" } }] };
    const { given, sent } = lengths(
      (data) => atOnce(composer.take(data)),
      [{ id: head, model: head, other: head, ...chunk }, ...Array.from({ length: EVENTS }, () => chunk)],
    );
    const told = composer.announce(Array.from({ length: EVENTS }, () => "search"));
    expect(sent + told.length).toBeLessThan(2 * given + 2 * EVENTS * 256);
  });

  it.each(HEADS)("repeats it in no chunk of an answer that came as a whole: %s", (_, head) => {
    const calls = Array.from({ length: EVENTS }, () => ({ function: { name: "f" } }));
    const answer = { id: head, model: head, choices: [{ index: 0, message: { tool_calls: calls } }] };
    const sent = atOnce(synthesizeStream(answer, { includeUsage: false }))?.byteLength ?? 0;
    expect(sent).toBeLessThan(JSON.stringify(answer).length + EVENTS * 256);
  });

  it("keeps an ordinary id and model", () => {
    const stream = streamOf(CHAT);
    const started = atOnce(
      stream.event(null, JSON.stringify({ type: "message_start", message: { id: "m", model: "c" } })),
    );
    expect(started).toContain('"id":"m","object":"chat.completion.chunk","created":1,"model":"c"');
  });
});

describe("a request that is made to be much work", () => {
  const called = (id: string) => ({
    role: "assistant",
    tool_calls: [{ id, type: "function", function: { name: "f", arguments: "{}" } }],
  });

  it("is 400 with the place of an id of more than 256 characters", () => {
    const long = ". ".repeat(129);
    const result = { role: "tool", tool_call_id: long, content: "x" };
    const places = [[called(long)], [called("c"), result]].map((messages) => refusalOf(CHAT, { messages }));
    expect(places).toEqual([
      { status: 400, param: "messages.0.tool_calls.0.id" },
      { status: 400, param: "messages.1.tool_call_id" },
    ]);
    expect(refusalOf(CHAT, { messages: [called("c".repeat(256))] })).toBeNull();
  });

  it("has its own names compared as they are", () => {
    // the table names `messages[].role`; a member of that name is another one
    const body = { messages: [{ role: "user", content: "x" }], "messages.1.role": "root" };
    expect(translated(MESSAGES, body)["messages.1.role"]).toBe("root");
  });

  it("may have a system message of 150,000 parts", () => {
    const content = Array.from({ length: 150_000 }, () => ({ type: "text", text: "a" }));
    const { system } = translated(CHAT, { messages: [{ role: "system", content }] });
    expect((system as readonly unknown[]).length).toBe(150_000);
  });
});

describe("a refusal in a request", () => {
  it("is a block of its own in what the model said", () => {
    const { messages } = translated(CHAT, { messages: [{ role: "assistant", content: "No", refusal: "I can't." }] });
    const blocks = ["No", "I can't."].map((text) => ({ type: "text", text }));
    expect(messages).toEqual([{ role: "assistant", content: blocks }]);
  });

  it.each(["user", "system", "tool"])("is 400 in a message of the role %s", (role) => {
    const message = { role, content: "forb", refusal: "idden" };
    expect(refusalOf(CHAT, { messages: [message] })).toEqual({ status: 400, param: "messages.0.refusal" });
    expect(refusalOf(CHAT, { messages: [{ ...message, refusal: null }] })).toBeNull();
  });
});

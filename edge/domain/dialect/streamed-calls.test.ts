/**
 * How the pieces of a chat completion's stream appear in a message: calls, and the end of a refusal
 * (docs/rules/dialects.md#streams).
 */
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { MessagesStream } from "./to-messages/stream.ts";

function next(stream: MessagesStream, event: object | string): JsonObject[] {
  const text = atOnce(stream.event(null, typeof event === "string" ? event : JSON.stringify(event)));
  const lines = text.split("\n").filter((line) => line.startsWith("data: "));
  return lines.map((line) => JSON.parse(line.slice(6)) as JsonObject);
}

const chunk = (delta: object, finish_reason: string | null = null): object => ({
  id: "chatcmpl-1",
  choices: [{ index: 0, delta, finish_reason }],
});
const called = (index: number, { id }: { readonly id: string }, input: string): object =>
  chunk({ tool_calls: [{ index, id, function: { name: "f", arguments: input } }] });
const opened = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
const toolUse = (id: string) => ({ type: "tool_use", id, name: "f", input: {} });

describe("a streamed chat completion", () => {
  it("starts a call for each new id with a name, although all have one index", () => {
    const stream = new MessagesStream();
    const call = (id: string | null, name: string | null, input: string) =>
      chunk({ tool_calls: [{ index: 0, id, function: { name, arguments: input } }] });
    const events = [
      call("c1", "f", '{"a":'),
      // of servers that give every piece an id of its own
      call("c9", "f", "{}"),
      call("c8", null, "}"),
      call("c2", "f", ""),
      call("c2", null, "{}"),
      call("c3", "f", "{}"),
      "[DONE]",
    ];
    const sent = events.flatMap((event) => next(stream, event));
    expect(sent.filter(({ type }) => /block_start|message_stop/.test(String(type)))).toEqual([
      opened(0, toolUse("c1")),
      opened(1, toolUse("c2")),
      opened(2, toolUse("c3")),
      { type: "message_stop" },
    ]);
  });

  it("ends a call without arguments, or of white space alone, as one without input", () => {
    const stream = new MessagesStream();
    const events = [called(0, { id: "a" }, ""), called(1, { id: "b" }, " \n"), chunk({}, "tool_calls"), "[DONE]"];
    const types = events.flatMap((event) => next(stream, event)).map((one) => one["type"]);
    const block = ["content_block_start", "content_block_stop"];
    expect(types).toEqual(["message_start", ...block, ...block, "message_delta", "message_stop"]);
  });

  it("keeps the first KiB of a refusal for its end", () => {
    const stream = new MessagesStream();
    const refused = Array.from({ length: 3 }, () => next(stream, chunk({ refusal: "a".repeat(1000) })));
    const [, end] = next(stream, "[DONE]");
    const details = { type: "refusal", category: null, explanation: "a".repeat(1024) };
    expect({ last: refused.at(-1), end }).toMatchObject({
      last: [{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a".repeat(1000) } }],
      end: { delta: { stop_details: details } },
    });
  });
});

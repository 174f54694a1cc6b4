/** Calls of tools, sealed reasoning and whole items in a stream that is left early (docs/rules/settlement-and-rows.md#what-was-seen). */
import { describe, expect, it } from "vitest";
import { UsageScan } from "./usage-scan.ts";

const encoder = new TextEncoder();
const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const chat = (delta: object): string => event({ choices: [{ index: 0, delta }] });
const call = (args: unknown): string =>
  chat({ tool_calls: [{ index: 0, function: { name: "write", arguments: args } }] });
const block = (content_block: object): string => event({ type: "content_block_start", index: 0, content_block });
const delta = (value: object): string => event({ type: "content_block_delta", index: 0, delta: value });
const TEXT = "x".repeat(4000);

/** What was seen of a stream, which must not depend on where its bytes are cut. */
function seenTokens(text: string): number {
  const bytes = encoder.encode(text);
  const [whole = 0, ...others] = [bytes.byteLength, 1, 7].map((size) => {
    const scan = new UsageScan({ content: true, anyForm: true, events: true });
    for (let at = 0; at < bytes.byteLength; at += size) scan.push(bytes.subarray(at, at + size));
    return scan.usage().seenTokens;
  });
  expect(others).toEqual([whole, whole]);
  return whole;
}

describe("arguments of a call that are an object", () => {
  it.each<[string, string, number]>([
    ["a text", call({ text: TEXT }), 1001],
    ["texts under any names", call({ data: TEXT, input: { usage: TEXT, logprobs: [TEXT], arguments: TEXT } }), 4007],
    ["names", call({ [TEXT]: null }), 1001],
    ["numbers and words", call({ a: 12345, b: [true, -1.5, null] }), 4],
    ["a list", call([TEXT, TEXT]), 2000],
    [
      "the whole call of a choice",
      event({ choices: [{ message: { tool_calls: [{ function: { arguments: { TEXT } } }] } }] }),
      1001,
    ],
    ["a message of Ollama's", event({ message: { tool_calls: [{ function: { arguments: { TEXT } } }] } }), 1001],
    [
      "what a message's tool gets",
      block({ type: "tool_use", id: "toolu_1", name: "write", input: { text: TEXT } }),
      1001,
    ],
    ["what a message's tool of the server gets", block({ type: "server_tool_use", input: { query: TEXT } }), 1001],
    ["a text for a tool without a schema", chat({ tool_calls: [{ custom: { name: "run", input: TEXT } }] }), 1000],
  ])("counts: %s", (_, text, tokens) => {
    expect(seenTokens(text)).toBe(tokens);
  });

  it.each<[string, string]>([
    ["an empty one, whose text is still to come", block({ type: "tool_use", input: {} })],
    ["the input of the request", event({ type: "response.created", response: { input: [{ arguments: { TEXT } }] } })],
    ["the request beside choices", event({ input: { arguments: { TEXT } }, choices: [] })],
  ])("does not count: %s", (_, text) => {
    expect(seenTokens(text)).toBe(0);
  });

  it("ends where it ends: what follows is read as before", () => {
    const usage = { prompt_tokens: 3, completion_tokens: 4 };
    const scan = new UsageScan({ content: true });
    scan.push(encoder.encode(`${call({ a: { b: [] } })}${event({ choices: [{ delta: { x: TEXT } }], usage })}`));
    expect(scan.usage()).toMatchObject({ reported: { outputTokens: 4 }, seenTokens: 1, upToDate: true });
  });

  it("counts while it has not ended", () => {
    const text = call({ text: TEXT });
    expect(seenTokens(text.slice(0, text.lastIndexOf(TEXT) + 1996))).toBe(500);
  });
});

describe("reasoning that only its upstream can read", () => {
  const sealed = block({ type: "redacted_thinking", data: TEXT });
  const signed = delta({ type: "signature_delta", signature: TEXT });
  const thinking = delta({ type: "thinking_delta", thinking: "t".repeat(1000) });

  it.each<[string, string, number]>([
    ["counts by what it can contain", sealed, 750],
    ["counts as the signature of thinking that is left out", signed, 750],
    ["counts beyond the thinking that it signs", thinking + signed, 750],
    ["counts once with the thinking that it signs", thinking.repeat(4) + signed, 1000],
    ["counts for each block", sealed + signed, 1500],
    ["is no data of a sound", chat({ audio: { data: TEXT } }), 0],
    ["is no signature elsewhere", chat({ thinking_blocks: [{ thinking: "hmm?", signature: TEXT }] }), 1],
  ])("%s", (_, text, tokens) => {
    expect(seenTokens(text)).toBe(tokens);
  });
});

describe("items of the output that come whole", () => {
  const item = (value: object, type = "response.output_item.done"): string =>
    event({ type, output_index: 0, item: { id: "msg_1", ...value } });
  const message = { type: "message", content: [{ type: "output_text", text: TEXT, annotations: [{ text: TEXT }] }] };
  const piece = (text: string): string => event({ type: "response.output_text.delta", output_index: 0, delta: text });

  it.each<[string, string, number]>([
    ["count where no piece of them came", item(message) + item(message), 2000],
    ["count once with their pieces", piece(TEXT) + item(message), 1000],
    ["count where others came in pieces", piece("x".repeat(400)) + item(message), 1000],
    ["count as calls", item({ type: "function_call", name: "write", arguments: TEXT }), 1000],
    ["count as reasoning", item({ type: "reasoning", summary: [{ type: "summary_text", text: TEXT }] }), 1000],
    ["count at their end alone", item(message, "response.output_item.added"), 0],
    ["of a conversation are the client's", item(message, "conversation.item.created"), 0],
  ])("%s", (_, text, tokens) => {
    expect(seenTokens(text)).toBe(tokens);
  });
});

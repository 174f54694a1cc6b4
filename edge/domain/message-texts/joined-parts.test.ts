/**
 * What clients of a stream join although no text of it continues: lists in place of a text, and items and parts, by their numbers
 * (docs/rules/guardrails.md#failures). A text is found, or the stream counts as one that cannot be read.
 */
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce } from "../../../shared/steps.ts";
import { CollectedTexts } from "./collected-texts.ts";
import { RedactingEvents } from "./redacting-events.ts";
import { RedactionTally } from "./text-redaction.ts";

const scan = compileScan({ scanners: ["ban_keywords"], banKeywords: ["zanzibarx"] });
const encoder = new TextEncoder();

const sent = (event: { readonly type?: string }): Uint8Array =>
  encoder.encode(`${event.type === undefined ? "" : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`);

/** How `block` reads a stream. */
function blocked(events: readonly object[]): "refused" | "unread" | "passed" {
  const texts = new CollectedTexts();
  for (const event of events) atOnce(texts.event(sent(event)));
  const found = atOnce(texts.texts()).some((parts) => parts.join("").includes("zanzibarx"));
  return found ? "refused" : texts.plain ? "passed" : "unread";
}

/** Whether `redact` reads a stream to its end. */
function isRedactable(events: readonly object[]): boolean {
  const stream = new RedactingEvents(scan, new RedactionTally());
  try {
    for (const event of events) atOnce(stream.event(sent(event)));
    return true;
  } catch {
    return false;
  }
}

const of = (type: string, more: object) => ({ type: `response.${type}`, output_index: 0, content_index: 0, ...more });
const block = (type: string, more: object) => ({ type: `content_block_${type}`, index: 0, ...more });
const chunk = (delta: object) => ({ choices: [{ index: 0, delta }] });
const message = (text: string, output_index: number, type = "output_item.added") =>
  of(type, { output_index, item: { type: "message", content: [{ type: "output_text", text }] } });
const part = (text: string, content_index: number) =>
  of("content_part.done", { content_index, part: { type: "output_text", text } });

describe("a list in place of a text", () => {
  const list = ["barx"];
  it.each<readonly [string, readonly [object, ...object[]]]>([
    ["a delta of text", [of("output_text.delta", { delta: "zanzi" }), of("output_text.delta", { delta: list })]],
    ["a list in a list", [of("output_text.delta", { delta: "zanzi" }), of("output_text.delta", { delta: [list] })]],
    ["a delta of arguments", [of("function_call_arguments.delta", { delta: list })]],
    ["a refusal", [of("refusal.delta", { delta: list })]],
    ["a summary of thoughts", [of("reasoning_summary_text.delta", { summary_index: 0, delta: list })]],
    ["a text of Messages", [block("delta", { delta: { type: "text_delta", text: list } })]],
    ["a thought of Messages", [block("delta", { delta: { type: "thinking_delta", thinking: [list] } })]],
    ["arguments of Messages", [block("delta", { delta: { type: "input_json_delta", partial_json: list } })]],
    ["the start of a block", [block("start", { content_block: { type: "text", text: list } })]],
    ["the start of a block, in a list", [block("start", { content_block: { type: "text", text: [list] } })]],
    ["content of chat", [chunk({ content: list })]],
    ["content of chat, in a list", [chunk({ content: [list] })]],
    ["numbers in a list", [chunk({ content: "12" }), chunk({ content: [[34]] })]],
    ["a refusal of chat", [chunk({ refusal: [list] })]],
    ["a transcript", [chunk({ audio: { transcript: [list] } })]],
    ["arguments of a tool", [chunk({ tool_calls: [{ index: 0, function: { arguments: list } }] })]],
    ["arguments of a function", [chunk({ function_call: { arguments: list } })]],
    ["the input of a custom tool", [chunk({ tool_calls: [{ index: 0, custom: { input: list } }] })]],
  ])("makes a stream one that cannot be read: %s", (_, events) => {
    expect({ block: blocked(events), redact: isRedactable(events) }).toEqual({ block: "unread", redact: false });
  });

  it.each<readonly [string, readonly object[]]>([
    ["parts of a message", [chunk({ content: [{ type: "text", text: "a" }] })]],
    ["searches", [of("output_item.done", { item: { type: "file_search_call", queries: ["a", "b"] } })]],
    ["commands", [of("output_item.done", { item: { type: "shell_call", action: { commands: ["a", "b"] } } })]],
    ["log probabilities", [{ choices: [{ index: 0, text: "a", logprobs: { tokens: ["a"] } }] }]],
  ])("is not what honest servers send: %s", (_, events) => {
    expect({ block: blocked(events), redact: isRedactable(events) }).toEqual({ block: "passed", redact: true });
  });
});

describe("texts that clients join by their numbers", () => {
  const text = (delta: string, output_index: number, content_index = 0) =>
    of("output_text.delta", { output_index, content_index, delta });
  const ofBlock = (delta: string, index: number) =>
    block("delta", { index, delta: { type: "text_delta", text: delta } });

  it.each<readonly [string, "refused" | "unread", readonly object[]]>([
    ["items that start with text", "refused", [message("zanzi", 0), message("barx", 1)]],
    ["items that start with text, the second first", "unread", [message("barx", 1), message("zanzi", 0)]],
    ["items that end", "refused", [message("zanzi", 0, "output_item.done"), message("barx", 1, "output_item.done")]],
    ["deltas of items", "refused", [text("zanzi", 0), text("barx", 1)]],
    ["deltas of items, the second first", "unread", [text("barx", 1), text("zanzi", 0)]],
    ["deltas of parts, the second first", "unread", [text("barx", 0, 1), text("zanzi", 0, 0)]],
    ["parts that end", "refused", [part("zanzi", 0), part("barx", 1)]],
    ["parts that end, the second first", "unread", [part("barx", 1), part("zanzi", 0)]],
    ["blocks", "refused", [ofBlock("zanzi", 0), ofBlock("barx", 1)]],
    ["blocks, the second first", "unread", [ofBlock("barx", 1), ofBlock("zanzi", 0)]],
  ])("are found, or cannot be read: %s", (_, expected, events) => {
    expect(blocked(events)).toBe(expected);
  });

  const shown = (text: string, output_index: number) => of("output_text.done", { output_index, text });
  const ofOutput = (text: string, output_index: number) => message(text, output_index, "output_item.done");

  it.each<readonly [string, readonly object[]]>([
    ["its end", [text("q", 0), shown("zanzi", 0), text("barx", 1)]],
    ["the end of its part", [text("q", 0), part("zanzi", 0), text("barx", 1)]],
    ["the end of its item", [text("q", 0), ofOutput("zanzi", 0), text("barx", 1)]],
    ["its end alone", [shown("zanzi", 0), text("barx", 1)]],
    ["its start, and that of the next", [message("zanzi", 0), text("barx", 1)]],
  ])("are found where a part is shown as another text: %s", (_, events) => {
    expect(blocked(events)).toBe("refused");
  });

  it("are not joined twice where a server counts parts of all items", () => {
    expect(blocked([text("zanzi", 0, 1), ofOutput("zanzi", 0), text("q", 1, 2), ofOutput("q", 1)])).toBe("passed");
  });

  it("may grow in turns once they have begun in order", () => {
    expect(blocked([text("a", 0), text("b", 1), text("c", 0), text("d", 1)])).toBe("passed");
  });
});

describe("text that clients do not read as the same text", () => {
  const ofType = (type: string, text: string) => block("delta", { delta: { type, text } });
  const choices = (...contents: readonly string[]) => ({
    choices: contents.map((content) => ({ index: 0, delta: { content } })),
  });
  const done = { type: "response.completed", response: { output: [] } };
  const text = (delta: string) => of("output_text.delta", { delta });

  it.each<readonly [string, "refused" | "unread", readonly object[]]>([
    [
      "a piece of an unknown type",
      "refused",
      [ofType("text_delta", "zanzi"), ofType("foo_delta", "q"), ofType("text_delta", "barx")],
    ],
    ["a choice that comes twice in a chunk", "unread", [choices("zanzi", "q"), choices("barx")]],
    ["text behind the end of a response", "unread", [text("zanzibar"), done, text("q")]],
    [
      "text behind the end of a message",
      "unread",
      [ofType("text_delta", "a"), { type: "message_stop" }, ofType("text_delta", "q")],
    ],
    [
      "text behind an error",
      "unread",
      [chunk({ content: "a" }), { type: "error", error: {} }, chunk({ content: "q" })],
    ],
    [
      "text before the start of a message",
      "unread",
      [ofType("text_delta", "a"), { type: "message_start", message: { content: [] } }],
    ],
    [
      "a response with output before its pieces",
      "unread",
      [{ type: "response.in_progress", response: { output: [{ content: [{ text: "q" }] }] } }],
    ],
  ])("does not hide a text from block: %s", (_, expected, events) => {
    expect(blocked(events)).toBe(expected);
  });

  it("does not hide a text behind the end of a stream of chat", () => {
    const texts = new CollectedTexts();
    const events = [chunk({ content: "a" }), "[DONE]", chunk({ content: "q" })];
    const lines = events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
    const plain = lines.map((line) => {
      atOnce(texts.event(encoder.encode(line)));
      return texts.plain;
    });
    expect(plain).toEqual([true, true, false]);
  });

  it.each<readonly [string, object]>([
    ["content", { content: "zanzi" }],
    ["a refusal", { refusal: "zanzi" }],
    ["arguments", { tool_calls: [{ index: 0, function: { arguments: "zanzi" } }] }],
    ["a transcript", { audio: { transcript: "zanzi" } }],
  ])("is a message of a choice, which deltas continue: %s", (_, message) => {
    const events = [{ choices: [{ index: 0, delta: {}, message }] }, chunk({ content: "barx" })];
    expect({ block: blocked(events), redact: isRedactable(events) }).toEqual({ block: "unread", redact: false });
  });
});

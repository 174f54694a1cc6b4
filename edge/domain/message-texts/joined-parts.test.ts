/**
 * What clients of a stream join although no text of it continues: lists in place of a text, and items and parts, by their numbers
 * (docs/rules/guardrails.md#failures). A text is found, or the stream counts as one that cannot be read.
 */
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce } from "../../../shared/steps.ts";
import { toldBy } from "../../../test/harness/edge/told-by.ts";
import { CollectedTexts } from "./collected-texts.ts";
import { RedactingEvents, redactDocument } from "./redacting-events.ts";
import { RedactionTally } from "./text-redaction.ts";

const scan = compileScan({ scanners: ["ban_keywords"], banKeywords: ["zanzibarx"] });
const encoder = new TextEncoder();

const sent = (event: { readonly type?: string }): Uint8Array =>
  encoder.encode(`${event.type === undefined ? "" : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`);

/** How `block` reads a stream; `answers`: so many were asked for. */
function blocked(events: readonly object[], answers?: number): "refused" | "unread" | "passed" {
  const texts = new CollectedTexts(undefined, answers);
  for (const event of events) atOnce(texts.event(sent(event)));
  const found = atOnce(texts.texts()).some((parts) => parts.join("").includes("zanzibarx"));
  return found ? "refused" : texts.plain ? "passed" : "unread";
}

/** Whether `redact` reads a stream to its end. */
function isRedactable(events: readonly object[], answers?: number): boolean {
  const stream = new RedactingEvents(scan, new RedactionTally(), undefined, false, answers);
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

describe("a chunk of chat", () => {
  const call = (index: number, args: string) => ({ index, function: { arguments: args } });
  const choice = (content: string, index?: number) => ({ index, delta: { content } });

  it.each<readonly [string, readonly object[]]>([
    ["a number as its text, which some clients leave out", [chunk({ content: "a" }), chunk({ content: 12 })]],
    ["an object as its text", [chunk({ content: "a" }), chunk({ content: { text: "a" } })]],
    ["a list as its delta", [{ choices: [{ index: 0, delta: [{ content: "a" }] }] }]],
    ["choices that are no list", [{ choices: { 0: choice("a", 0) } }]],
    ["a choice that is none", [{ choices: [null, choice("a")] }]],
    ["choices in another order", [{ choices: [choice("a", 1), choice("b", 0)] }]],
    ["calls of one number", [chunk({ tool_calls: [call(0, "a"), call(0, "b")] })]],
    ["calls in another order", [chunk({ tool_calls: [call(1, "a"), call(0, "b")] })]],
    ["a number after choices without one", [{ choices: [choice("a")] }, { choices: [choice("b", 0)] }]],
    ["no number after choices with one", [{ choices: [choice("a", 0)] }, { choices: [choice("b")] }]],
  ])("cannot be read with %s", (_, events) => {
    expect({ block: blocked(events), redact: isRedactable(events) }).toEqual({ block: "unread", redact: false });
  });

  it.each([
    ["unread", 1],
    ["passed", 2],
  ])("of a second choice is %s if %d were asked for", (block, answers) => {
    const events = [{ choices: [choice("zanzi", 1)] }, { choices: [choice("barx", 0)] }];
    expect({ block: blocked(events, answers), redact: isRedactable(events, answers) }).toEqual({
      block,
      redact: block === "passed",
    });
  });

  it.each<readonly [string, readonly object[]]>([
    ["no choices before and after its text", [{ choices: [] }, chunk({ content: "a" }), { choices: [], usage: {} }]],
    ["no delta at its end", [chunk({ content: "a" }), { choices: [{ index: 0, delta: null, finish_reason: "stop" }] }]],
    ["choices in turns", [0, 1, 0, 1].map((index) => ({ choices: [choice("a", index)] }))],
    ["choices without numbers", [{ choices: [choice("a")] }, { choices: [choice("b")] }]],
    ["thoughts by two names", ["a", "b"].map((reasoning) => chunk({ reasoning, reasoning_content: reasoning }))],
    [
      "thoughts in details",
      ["a", "b"].map((text) => chunk({ reasoning: text, reasoning_details: [{ index: 0, text }] })),
    ],
    [
      "thoughts in a list, and text",
      [chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "a" }] }] }), chunk({ content: "b" })],
    ],
    ["calls in turns", [0, 1, 0].map((index) => chunk({ content: null, tool_calls: [call(index, "{}")] }))],
    ["a call without a number", [chunk({ tool_calls: [{ id: "c", function: { arguments: "{}" } }] })]],
    ["arguments that are an object", [chunk({ tool_calls: [{ index: 0, function: { arguments: { q: "a" } } }] })]],
    ["sound", [chunk({ audio: { id: "a", transcript: "a" } }), chunk({ audio: { data: "AAAA", expires_at: 1 } })]],
    ["citations", [chunk({ content: "a", annotations: [{ url_citation: { title: "b", start_index: 0 } }] })]],
    ["texts of completions", [{ choices: [{ index: 0, text: "a", logprobs: null }] }]],
  ])("is read with %s, as servers send it", (_, events) => {
    expect({ block: blocked(events, 2), redact: isRedactable(events, 2) }).toEqual({ block: "passed", redact: true });
  });

  it("has one text in content and refusal, which some clients join", () => {
    expect(blocked([chunk({ content: "zanzi" }), chunk({ refusal: "barx" })])).toBe("refused");
  });

  it("is unread under block if parts of its content grow in turns", () => {
    const parts = (...texts: string[]) => chunk({ content: texts.map((text) => ({ type: "text", text })) });
    expect(blocked([parts("a", "zanzi"), parts("barx")])).toBe("unread");
    expect(blocked([parts("zanzi"), parts("barx")])).toBe("refused");
  });
});

describe("a list in place of a text", () => {
  const list = ["barx"];
  it.each<readonly [string, readonly [object, ...object[]]]>([
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

  it("continues the text before it", () => {
    const events = [of("output_text.delta", { delta: "zanzi" }), of("output_text.delta", { delta: list })];
    expect({ block: blocked(events), redact: isRedactable(events) }).toEqual({ block: "refused", redact: false });
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

  it("cannot be read if they grow in turns, because some clients join them as they come", () => {
    expect(blocked([text("zanzi", 0), text("a", 1), text("barx", 0)])).toBe("refused");
    expect(blocked([text("a", 0), text("zanzi", 1), text("barx", 0)])).toBe("unread");
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
      "a response with output before its pieces",
      "unread",
      [{ type: "response.in_progress", response: { output: [{ content: [{ text: "q" }] }] } }],
    ],
  ])("does not hide a text from block: %s", (_, expected, events) => {
    expect(blocked(events)).toBe(expected);
  });

  it.each<readonly [string, readonly object[]]>([
    ["a message", [ofType("text_delta", "a"), { type: "message_start", message: { content: [] } }]],
    ["a message, in a chunk of chat", [chunk({ content: "a" }), { type: "message_start", message: { content: [] } }]],
    ["a response", [text("a"), { type: "response.created", response: { output: [] } }]],
    ["a response, as an item", [message("a", 0), { type: "response.created", response: { output: [] } }]],
  ])("is read by no client alike where text comes before the start of %s", (_, events) => {
    expect({ block: blocked(events), redact: isRedactable(events) }).toEqual({ block: "unread", redact: false });
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

describe("what `output_text` of an SDK skips between two texts does not separate them", () => {
  const text = (of: string, type = "output_text") => ({ type, text: of });
  const item = (content: readonly object[], type = "message") => ({ type, content });

  it.each([
    ["an item of another type", [item([text("zanz")]), item([text("q")], "other"), item([text("ibarx")])]],
    ["a thought", [item([text("zanz")]), item([text("q", "reasoning_text")], "reasoning"), item([text("ibarx")])]],
    ["a part of another type", [item([text("zanz"), text("q", "text"), text("ibarx")])]],
    ["a part without a type", [item([text("zanz"), { text: "q" }, text("ibarx")])]],
  ])("%s", (_, output) => {
    const texts = new CollectedTexts();
    atOnce(texts.document(JSON.stringify({ output })));
    expect(atOnce(texts.texts()).some((parts) => parts.join("").includes("zanzibarx"))).toBe(true);
    expect(blocked([{ type: "response.completed", response: { output } } as object])).toBe("refused");
    const redacted = atOnce(redactDocument(scan, new RedactionTally(), JSON.stringify({ output })));
    expect(redacted).not.toContain("ibarx");
  });

  it("a block of another type, with deltas", () => {
    const started = (index: number, type: string) => block("start", { index, content_block: { type, text: "" } });
    const delta = (index: number, of: string) => block("delta", { index, delta: { type: "text_delta", text: of } });
    const events = [started(0, "text"), delta(0, "zanz"), started(1, "other"), delta(1, "q"), started(2, "text")];
    expect(blocked([...events, delta(2, "ibarx")])).toBe("refused");
  });
});

describe("very many parts of one text", () => {
  const COUNT = 20_000;
  const content = Array.from({ length: COUNT }, () => ({ type: "output_text", text: "a" }));

  it("are joined in steps, each of them told", () => {
    const json = JSON.stringify({ type: "message", content });
    const texts = new CollectedTexts();
    atOnce(texts.document(json));
    const units = {
      joined: toldBy(texts.texts()).units / COUNT,
      redacted: toldBy(redactDocument(scan, new RedactionTally(), json)).units / COUNT,
    };
    const areTold = units.joined >= 60 && units.redacted >= 180;
    expect({ units, areTold }).toEqual({ units, areTold: true });
  });
});

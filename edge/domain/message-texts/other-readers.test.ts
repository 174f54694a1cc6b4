/**
 * Answers whose clients go by other rules than the gateway: marks of byte order, names that some skip, ids of items, and what an
 * upstream only calls a repetition (docs/rules/guardrails.md#failures). A text is found, or the answer counts as unread.
 */
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce } from "../../../shared/steps.ts";
import { CollectedTexts } from "./collected-texts.ts";
import { RedactingEvents, redactDocument } from "./redacting-events.ts";
import { RedactionTally } from "./text-redaction.ts";

const WORD = "zanzibarx";
const scan = compileScan({ scanners: ["ban_keywords"], banKeywords: [WORD] });
const [encoder, decoder] = [new TextEncoder(), new TextDecoder("utf-8", { fatal: false, ignoreBOM: true })];

/** How `block` reads an event stream. */
function blocked(events: readonly string[]): "refused" | "unread" | "passed" {
  const texts = new CollectedTexts();
  for (const event of events) atOnce(texts.event(encoder.encode(event)));
  atOnce(texts.again(() => events.join("")));
  return verdict(texts);
}

function verdict(texts: CollectedTexts): "refused" | "unread" | "passed" {
  const found = atOnce(texts.texts()).some((parts) => parts.join("").includes(WORD));
  return found ? "refused" : texts.plain ? "passed" : "unread";
}

/** The stream under `redact`; null: it was ended. */
function redacted(events: readonly string[]): string | null {
  const stream = new RedactingEvents(scan, new RedactionTally());
  try {
    const passed = events.map((event) => decoder.decode(atOnce(stream.event(encoder.encode(event)))));
    return passed.join("") + decoder.decode(atOnce(stream.finish()));
  } catch {
    return null;
  }
}

const data = (value: object, name?: string): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`;
const chunk = (content: string): object => ({ choices: [{ index: 0, delta: { content } }] });
const piece = (delta: string, more: object = {}): object => ({
  type: "response.output_text.delta",
  output_index: 0,
  content_index: 0,
  delta,
  ...more,
});
const typed = (value: object): string => data(value, (value as { readonly type: string }).type);

describe("a stream", () => {
  it("begins with one byte order mark, which all clients drop", () => {
    const events = [`\ufeff${data(chunk("zanzi"))}`, data(chunk("barx"))];
    expect({ block: blocked(events), redact: redacted(events)?.includes("zanzi") }).toEqual({
      block: "refused",
      redact: false,
    });
  });

  it.each([
    ["between two events", [data(chunk("zanzi")), `\ufeff${data(chunk("q"))}`, data(chunk("barx"))]],
    ["before the rest of a text", [data(chunk("zanzi")), `\ufeff${data(chunk("barx"))}`]],
    ["twice at the start", [`\ufeff\ufeff${data(chunk("q"))}`, data(chunk("zanzi")), data(chunk("barx"))]],
  ])("hides no text by a byte order mark %s", (_, events) => {
    expect({ block: blocked(events), redact: redacted(events) }).toEqual({ block: "refused", redact: null });
  });

  it.each<readonly [string, "refused" | "unread", readonly string[]]>([
    [
      "an item with two numbers",
      "refused",
      [0, 1].map((output_index) => typed(piece(["zanzi", "barx"][output_index] ?? "", { item_id: "a", output_index }))),
    ],
    [
      "an item that comes back",
      "unread",
      ["a", "b", "a"].map((item_id, at) => typed(piece(["zanzi", "q", "barx"][at] ?? "", { item_id }))),
    ],
  ])("with %s hides no text", (_, block, events) => {
    expect({ block: blocked(events), redact: redacted(events) }).toEqual({ block, redact: null });
  });

  it("has two texts where pieces come under the old and the new name of the Realtime API", () => {
    const events = [piece("zanzi"), { ...piece("q"), type: "response.text.delta" }, piece("barx")].map(typed);
    expect({ block: blocked(events), redact: redacted(events)?.includes("zanzi") }).toEqual({
      block: "refused",
      redact: false,
    });
  });

  it("may have items of several types under one number, and pieces without an id", () => {
    const events = [
      typed({ ...piece("a", { item_id: "rs_1" }), type: "response.reasoning_text.delta" }),
      typed(piece("b", { item_id: "msg_1" })),
      typed(piece("c", { item_id: "" })),
    ];
    expect({ block: blocked(events), isRead: redacted(events) !== null }).toEqual({ block: "passed", isRead: true });
  });

  it("with texts in events that some clients skip, and in others, is read in both ways or ended", () => {
    const events = [data(chunk("zanzi")), data(chunk("q"), "thread.x"), data(chunk("barx"))];
    expect({ block: blocked(events), redact: redacted(events) }).toEqual({ block: "refused", redact: null });
    const skipped = [data(chunk("zanzi"), "thread.x"), data(chunk("barx"), "thread.x")];
    expect(redacted(skipped)).not.toBeNull();
  });
});

describe("a stream with text behind its end", () => {
  const end = "data: [DONE]\n\n";
  it.each<readonly [string, readonly string[]]>([
    ["a client that stops there", [data(chunk("zanzi")), data(chunk("barx")), end, data(chunk("q"))]],
    [
      "a client that stops at an error",
      [data(chunk("zanzibarx")), data({ ...chunk("q"), error: "x" }), data(chunk("q"))],
    ],
    ["a client that reads on", [data(chunk("zanzi")), data({ error: "x" }), data(chunk("barx")), end]],
    [
      "a client that stops, if its lines are JSON",
      ["zanzibarx", "q"].map((text) => JSON.stringify({ error: text === "q", response: text })),
    ],
  ])("is read as by %s, and counts as unread", (_, events) => {
    const texts = new CollectedTexts();
    if (events[0]?.startsWith("{") === true) atOnce(texts.document(events.join("\n")));
    else for (const event of events) atOnce(texts.event(encoder.encode(event)));
    const given = atOnce(texts.texts()).map((parts) => parts.map((text) => ({ text, user: false })));
    const isFound = given.some((parts) => scan.scanTexts(parts).length > 0);
    expect({ isFound, isPlain: texts.plain }).toEqual({ isFound: true, isPlain: false });
  });

  it("is kept once more, however often it ends", () => {
    let room = 0;
    const texts = new CollectedTexts((characters) => {
      room += characters;
      return true;
    });
    const add = (count: number): number => {
      for (let nth = 0; nth < count; nth += 1) {
        atOnce(texts.event(encoder.encode(data({ ...chunk("q"), error: "x" }))));
      }
      return room;
    };
    add(2);
    const before = room;
    expect(add(100) - before).toBe(100);
  });
});

describe("an answer that calls itself a response", () => {
  const object = "response";

  it.each<readonly [string, object]>([
    ["a part of a message", { type: "message", content: [{ type: "text", object, text: WORD }] }],
    ["a call of a message", { type: "message", content: [{ type: "tool_use", object, input: { q: WORD } }] }],
    ["a choice", { choices: [{ index: 0, object, text: WORD }] }],
    ["a transcription", { object, text: WORD }],
    ["a failed call of a response", { object, output: [{ type: "mcp_call", object, error: WORD }] }],
  ])("hides no text of %s", (_, answer) => {
    const texts = new CollectedTexts();
    const text = JSON.stringify(answer);
    atOnce(texts.document(text));
    const shown = atOnce(redactDocument(scan, new RedactionTally(), text));
    expect({ block: verdict(texts), redact: shown.includes(WORD) }).toEqual({ block: "refused", redact: false });
  });

  it.each<readonly [string, object]>([
    [
      "a piece of a message",
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", object, text: WORD } },
    ],
    ["the end of a text", { type: "response.output_text.done", object, output_index: 0, content_index: 0, text: WORD }],
    ["the end of an input", { type: "response.custom_tool_call_input.done", object, output_index: 0, input: WORD }],
  ])("hides no text of %s", (_, event) => {
    const events = [typed(event)];
    expect({ block: blocked(events), redact: redacted(events)?.includes(WORD) ?? false }).toEqual({
      block: "refused",
      redact: false,
    });
  });

  it("hides no word of a transcription", () => {
    const texts = new CollectedTexts();
    atOnce(texts.document(JSON.stringify({ text: "ok", words: [{ word: " zanzibarx", start: 0 }] })));
    expect(verdict(texts)).toBe("refused");
  });

  it.each<readonly [string, object]>([
    ["its own", { object, text: { format: { name: WORD } }, reasoning: { effort: WORD }, instructions: WORD }],
    ["an answer in a list", { object: "list", data: [{ object: "chat.completion", metadata: { note: WORD } }] }],
  ])("repeats its request, which is not examined: %s", (_, answer) => {
    const texts = new CollectedTexts();
    atOnce(texts.document(JSON.stringify(answer)));
    expect(verdict(texts)).toBe("passed");
  });
});

it.each<readonly [string, "refused" | "unread", readonly unknown[]]>([
  ["of texts are read together", "refused", ["zanzi", "barx"]],
  ["of a part and a text cannot be read", "unread", [{ type: "text", text: "zanzi" }, "barx"]],
])("the contents %s", (_, block, content) => {
  const texts = new CollectedTexts();
  const text = JSON.stringify({ choices: [{ index: 0, message: { content } }] });
  atOnce(texts.document(text));
  expect(verdict(texts)).toBe(block);
  if (block === "refused") expect(atOnce(redactDocument(scan, new RedactionTally(), text))).not.toContain("zanzi");
});

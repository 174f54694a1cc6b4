/**
 * Streams whose upstream cuts a text where a client reads on and a guardrail might not (docs/rules/guardrails.md#split-texts,
 * docs/rules/guardrails.md#what-is-held-back).
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce } from "../../../shared/steps.ts";
import { CollectedTexts } from "./collected-texts.ts";
import { RedactingEvents, redactDocument } from "./redacting-events.ts";
import { RedactionTally } from "./text-redaction.ts";

const scan = compileScan({ scanners: ["pii", "ban_keywords"], banKeywords: ["zanzibarx"] });
const encoder = new TextEncoder();
const sent = (data: unknown): Uint8Array => encoder.encode(`data: ${JSON.stringify(data)}\n\n`);

/** The text of the events that a client gets for these. */
function redacted(events: readonly unknown[]): string {
  const stream = new RedactingEvents(scan, new RedactionTally());
  const written = events.map((data) => atOnce(stream.event(sent(data))));
  return [...written, atOnce(stream.finish())].map((bytes) => new TextDecoder().decode(bytes)).join("");
}

const TEXTS = new Set(["content", "text", "refusal", "thinking", "arguments", "delta", "partial_json"]);

/** The texts in events, in order, as a client joins them. */
function joinedTexts(events: readonly unknown[]): string {
  const textsIn = (value: unknown): string => {
    if (typeof value !== "object" || value === null) return "";
    return Object.entries(value)
      .map(([name, inner]) => (typeof inner === "string" && TEXTS.has(name) ? inner : textsIn(inner)))
      .join("");
  };
  return events.map(textsIn).join("");
}

const eventsOf = (stream: string): readonly unknown[] =>
  [...stream.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data) as unknown);

function collected(events: readonly unknown[]): readonly (readonly string[])[] {
  const texts = new CollectedTexts();
  for (const event of events) atOnce(texts.event(sent(event)));
  return atOnce(texts.texts());
}

const chunk = (content: string, more: object = {}, choice: object = {}) => ({
  id: "c",
  ...more,
  choices: [{ index: 0, delta: { content }, finish_reason: null, ...choice }],
});
const ofResponse = (type: string, more: object) => ({ type: `response.${type}`, output_index: 0, ...more });
const textDelta = (delta: string, more: object = {}) =>
  ofResponse("output_text.delta", { item_id: "i", content_index: 0, delta, ...more });
const blockDelta = (text: string, more: object = {}) => ({
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text },
  ...more,
});
const outputText = (text: string) => ({ type: "output_text", text, annotations: [] });

describe("a text that an upstream cuts", () => {
  it.each<readonly [string, readonly [unknown, ...unknown[]]]>([
    [
      "in the start of a part",
      [
        ofResponse("content_part.added", { item_id: "i", content_index: 0, part: outputText("a zanzi") }),
        textDelta("barx b"),
      ],
    ],
    [
      "in the start of a refusal",
      [
        ofResponse("content_part.added", { content_index: 0, part: { type: "refusal", refusal: "a zanzi" } }),
        ofResponse("refusal.delta", { content_index: 0, delta: "barx b" }),
      ],
    ],
    [
      "in the start of a summary",
      [
        ofResponse("reasoning_summary_part.added", {
          summary_index: 0,
          part: { type: "summary_text", text: "a zanzi" },
        }),
        ofResponse("reasoning_summary_text.delta", { summary_index: 0, delta: "barx b" }),
      ],
    ],
    [
      "in the start of an item",
      [ofResponse("output_item.added", { item: { id: "i", content: [outputText("a zanzi")] } }), textDelta("barx b")],
    ],
    ["with types of chunks", [chunk("a zanzi", { type: "x.delta" }), chunk("barx b", { type: "y" })]],
    [
      "with numbers of chunks",
      [chunk("a zanzi", { output_index: 1, item_id: "i" }), chunk("barx b", { output_index: 2 })],
    ],
    ["with ids of items", [textDelta("a zanzi"), textDelta("barx b", { item_id: "other" })]],
    [
      "with numbers that its API does not have",
      [textDelta("a zanzi"), textDelta("barx b", { index: 1, summary_index: 2 })],
    ],
    ["with numbers of another API", [blockDelta("a zanzi"), blockDelta("barx b", { output_index: 1, item_id: "i" })]],
    ["with the end of its choice", [chunk("a zanzi", {}, { finish_reason: "stop" }), chunk("barx b")]],
    ["with the end of its choice alone", [chunk("a zanzi"), chunk("", {}, { finish_reason: "stop" }), chunk("barx b")]],
    ["with the end of another kind", [chunk("a zanzi"), { type: "x.done" }, chunk("barx b")]],
    [
      "with its own end",
      [textDelta("a zanzi"), ofResponse("output_text.done", { content_index: 0 }), textDelta("barx b")],
    ],
    [
      "with the end of its block",
      [blockDelta("a zanzi"), { type: "content_block_stop", index: 0 }, blockDelta("barx b")],
    ],
  ])("is one text: %s", (_, events) => {
    const text = joinedTexts(eventsOf(redacted(events)));
    expect({
      isExamined: collected(events).some((parts) => parts.join("").includes("a zanzibarx b")),
      isRedacted: !text.includes("zanzibarx") && text.startsWith("a ") && text.endsWith("[REDACTED] b"),
    }).toEqual({ isExamined: true, isRedacted: true });
  });

  it("is one text of two messages of an answer, in a stream and in a document", () => {
    const item = (text: string) => ({ type: "message", content: [outputText(text)] });
    const document = new CollectedTexts();
    atOnce(document.document(JSON.stringify({ output: [item("a zanzi"), item("barx b")] })));
    const stream = collected([textDelta("a zanzi"), textDelta("barx b", { output_index: 1 })]);
    const last = collected([{ type: "response.completed", response: { output: [item("a zanzi"), item("barx b")] } }]);
    const joined = [["a zanzi", "barx b"]];
    expect({ stream, last, document: atOnce(document.texts()) }).toEqual({
      stream: joined,
      last: joined,
      document: joined,
    });
  });

  it("is one text of arguments that begin with their item", () => {
    const item = { type: "function_call", id: "i", name: "f", arguments: '{"q":"zanzi' };
    const delta = ofResponse("function_call_arguments.delta", { item_id: "i", delta: 'barx"}' });
    const events = [ofResponse("output_item.added", { item }), delta];
    expect({ texts: collected(events).flat(), redacted: joinedTexts(eventsOf(redacted(events))) }).toEqual({
      texts: expect.arrayContaining(["zanzibarx"]),
      redacted: '{"q":"[REDACTED]"}',
    });
  });

  it("loses nothing, wherever its pieces end", () => {
    const piece = fc.tuple(
      fc.string({ unit: fc.constantFrom("z", "a", "n", "i", "b", " ", ".", "-"), maxLength: 6 }),
      fc.boolean(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const given = pieces.map(([text]) => text).join("");
        const events = pieces.map(([text, ends]) => chunk(text, {}, { finish_reason: ends ? "stop" : null }));
        const stream = events.length === 0 ? [] : eventsOf(redacted(events));
        expect(joinedTexts(stream)).toBe(given);
      }),
    );
  });

  it("breaks the stream off when more ends are kept than any honest one has", () => {
    const stream = new RedactingEvents(scan, new RedactionTally());
    const end = (index: number) => atOnce(stream.event(sent(chunk("jane", {}, { index, finish_reason: "stop" }))));
    expect(() => {
      for (let index = 0; index < 5000; index += 1) end(index);
    }).toThrow("too many texts");
  });
});

describe("a signed thought", () => {
  const thought = (thinking: string, signature: string) => ({ type: "thinking", thinking, signature });
  const delta = (thinking: string, signature = "c2ln") =>
    chunk("", {}, { delta: { thinking_blocks: [thought(thinking, signature)] } });

  it("is sent as it is in its own event if nothing matches", () => {
    const event = delta("as jane");
    expect(redacted([chunk("hi"), event])).toContain(new TextDecoder().decode(sent(event)));
  });

  it("has no signature in an item of the Responses API once it is redacted", () => {
    const item = (text: string, sealed?: string) => ({
      type: "reasoning",
      summary: [{ type: "summary_text", text }],
      ...(sealed === undefined ? {} : { encrypted_content: sealed }),
    });
    const [signature, others] = ["anthropic:signature:c2ln", "gAAAA"];
    const items = [item("a zanzibarx", signature), item("jane", signature), item("a zanzibarx", others)];
    const shown = [item("a [REDACTED]"), item("jane", signature), item("a [REDACTED]", others)];
    const document = atOnce(redactDocument(scan, new RedactionTally(), JSON.stringify({ output: items })));
    expect(JSON.parse(document)).toEqual({ output: shown });
    const events = (of: readonly object[]) => [
      ...of.map((one, output_index) => ({ type: "response.output_item.done", output_index, item: one })),
      { type: "response.completed", response: { output: of } },
    ];
    expect(eventsOf(redacted(events(items)))).toEqual(events(shown));
  });

  it("has no signature once it is redacted, in a stream and in an answer", () => {
    expect(eventsOf(redacted([delta("a zanzibarx")]))).toEqual([delta("a [REDACTED]", "")]);
    const answer = { content: [thought("a zanzibarx", "c2ln"), thought("jane", "c2ln")] };
    const document = atOnce(redactDocument(scan, new RedactionTally(), JSON.stringify(answer)));
    expect(JSON.parse(document)).toEqual({ content: [thought("a [REDACTED]", ""), thought("jane", "c2ln")] });
  });
});

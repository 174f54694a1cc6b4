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
function redacted(events: readonly unknown[], failOpen = false): string {
  const stream = new RedactingEvents(scan, new RedactionTally(), undefined, failOpen);
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
      "in the start of a block",
      [
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "a zanzi" } },
        blockDelta("barx b"),
      ],
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

  it("is one text of a list of parts, and of a string after it", () => {
    expect(
      collected([chunk("", {}, { delta: { content: [{ type: "text", text: "a zanzi" }] } }), chunk("barx b")]),
    ).toEqual([["a zanzi", "barx b"]]);
  });

  it("is one text with a number, which only some clients join to it, if such streams pass", () => {
    const events = [chunk("a 123-45-"), chunk("", {}, { delta: { content: 6789 } }), chunk(" b")];
    expect(collected(events)).toEqual([["a 123-45-6789 b"]]);
    expect(joinedTexts(eventsOf(redacted(events, true)))).toBe("a [REDACTED:SSN] b");
  });

  it("is separate from its citations, and each citation is a text", () => {
    const cited = (cited_text: string) =>
      blockDelta("", { delta: { type: "citations_delta", citation: { cited_text } } });
    const titled = (title: string) => chunk("", {}, { delta: { annotations: [{ url_citation: { title } }] } });
    const events = [cited("x"), cited("zanzibarx"), titled("x"), titled("zanzibarx")];
    expect(collected(events)).toEqual([["x"], ["zanzibarx"]]);
    expect(redacted(events).split("[REDACTED]")).toHaveLength(3);
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

  it.each([
    ["output_text", "hello"],
    ["output_text", '{"a":"b"}'],
    ["function_call_arguments", '{"a":"b"}'],
  ])("may be another one, which is JSON, if servers write no numbers: %s after %s", (name, first) => {
    const texts = [first, '{"c":"\\u007aanzibarx"}'].flatMap((delta) => [
      { type: `response.${name}.delta`, delta },
      { type: `response.${name}.done` },
    ]);
    expect(joinedTexts(eventsOf(redacted(texts)))).toBe(`${first}{"c":"[REDACTED]"}`);
  });

  it("breaks the stream off when more ends are kept than any honest one has", () => {
    const stream = new RedactingEvents(scan, new RedactionTally());
    const end = (index: number) => atOnce(stream.event(sent(chunk("jane", {}, { index, finish_reason: "stop" }))));
    expect(() => {
      for (let index = 0; index < 5000; index += 1) end(index);
    }).toThrow("too many texts");
  });
});

describe("a stream that clients read differently", () => {
  const message = (text: string) => ({ type: "message", id: "i", content: [outputText(text)] });
  const added = (item: object, more: object = {}) => ofResponse("output_item.added", { item, ...more });
  const part = (type: string, content_index: number) =>
    ofResponse("content_part.added", {
      content_index,
      part: { type, [type === "refusal" ? type : "text"]: "a zanzi" },
    });
  const block = (index: unknown, text: string) => ({
    type: "content_block_start",
    index,
    content_block: { type: "text", text },
  });
  const shown = (type: string, ...output: object[]) => ({ type: `response.${type}`, response: { output } });
  const call = (type: string, member: string) => [
    added({ type, [member]: "a zanzi" }),
    ofResponse(`${type}_${member}.delta`, { delta: "barx b" }),
  ];

  it.each<readonly [string, readonly unknown[]]>([
    [
      "in the start of a message",
      [{ type: "message_start", message: { content: [{ text: "a zanzi" }] } }, blockDelta("barx b")],
    ],
    ["with an index in quotes", [blockDelta("a zanzi"), blockDelta("barx b", { index: "0" })]],
    ["with an index from the end", [blockDelta("a zanzi"), blockDelta("barx b", { index: -1 })]],
    ...["created", "queued", "in_progress", "completed"].map(
      (type) => [`in a response that is ${type}`, [shown(type, message("a zanzi")), textDelta("barx b")]] as const,
    ),
    ["in the start of an item", [added(message("a zanzi")), textDelta("barx b")]],
    ["in an item that starts elsewhere", [added(message("a zanzi"), { output_index: 7 }), textDelta("barx b")]],
    ["in the start of a part", [part("output_text", 0), textDelta("barx b")]],
    ["in a part that starts elsewhere", [part("output_text", 4), textDelta("barx b")]],
    [
      "in the start of a refusal",
      [part("refusal", 0), ofResponse("refusal.delta", { content_index: 0, delta: "barx b" })],
    ],
    ["in the start of a function's call", call("function_call", "arguments")],
    ["in the start of a server's call", call("mcp_call", "arguments")],
    ["in the start of a custom call", call("custom_tool_call", "input")],
    [
      "in the start of code",
      [added({ code: "a zanzi" }), ofResponse("code_interpreter_call_code.delta", { delta: "barx b" })],
    ],
    [
      "in the start of a command",
      [
        added({ type: "shell_call", action: { commands: ["a zanzi"] } }),
        ofResponse("shell_call_command.delta", { command_index: 0, delta: "barx b" }),
      ],
    ],
    [
      "in the start of a summary",
      [
        ofResponse("reasoning_summary_part.added", { summary_index: 0, part: { text: "a zanzi" } }),
        ofResponse("reasoning_summary_text.delta", { summary_index: 0, delta: "barx b" }),
      ],
    ],
    [
      "in place of its pieces",
      [textDelta("x"), ofResponse("output_text.done", { content_index: 0, text: "a zanzi" }), textDelta("barx b")],
    ],
    ["in place of its item", [ofResponse("output_item.done", { item: message("a zanzi") }), textDelta("barx b")]],
    ["in a choice whose index is in quotes", [chunk("a zanzi", {}, { index: 1 }), chunk("barx b", {}, { index: "1" })]],
    ["in a list of a choice", [chunk("", {}, { delta: { content: ["a zanzi"] } }), chunk("barx b")]],
  ])("cannot be read: a text %s", (_, events) => {
    const texts = new CollectedTexts();
    for (const event of events) atOnce(texts.event(sent(event)));
    expect(texts.plain).toBe(false);
    expect(() => redacted(events)).toThrow("cannot be read");
    const open = new RedactingEvents(scan, new RedactionTally(), undefined, true);
    for (const event of events) atOnce(open.event(sent(event)));
    expect(open.plain).toBe(false);
  });

  it.each<readonly [string, readonly unknown[]]>([
    ["in a block that starts elsewhere", [block(5, "a zanzi"), blockDelta("barx b")]],
    ["in a block that starts twice", [block(0, ""), block(0, "a zanzi"), blockDelta("barx b", { index: 1 })]],
    ["in a block without an index", [block(undefined, "a zanzi"), blockDelta("barx b")]],
  ])("cannot be read if it is held, and as a stream has the text apart: %s", (_, events) => {
    const texts = new CollectedTexts();
    for (const event of events) atOnce(texts.event(sent(event)));
    const starts = eventsOf(redacted(events)).filter(
      (event) => (event as { type: string }).type === "content_block_start",
    );
    expect({ plain: texts.plain, started: joinedTexts(starts) }).toEqual({ plain: false, started: "" });
  });

  const reasoning = (summary_index: number) => [
    ofResponse("reasoning_summary_part.added", { summary_index, part: { type: "summary_text", text: "" } }),
    ofResponse("reasoning_summary_text.delta", { summary_index, delta: "hm" }),
    ofResponse("reasoning_summary_text.done", { summary_index, text: "hm" }),
    ofResponse("reasoning_summary_part.done", { summary_index, part: { type: "summary_text", text: "hm" } }),
  ];
  const second = { output_index: 1, content_index: 1 };

  it.each<readonly [string, readonly unknown[]]>([
    [
      "Anthropic",
      [
        { type: "message_start", message: { content: [] } },
        block(0, ""),
        blockDelta("a"),
        { type: "content_block_stop", index: 0 },
        {
          type: "content_block_start",
          index: 1,
          content_block: { type: "web_search_tool_result", content: [{ title: "b" }] },
        },
        { type: "content_block_stop", index: 1 },
        block(2, ""),
        blockDelta("c", { index: 2 }),
      ],
    ],
    ["LiteLLM, which starts a block with its text", [block(0, "a"), blockDelta("b")]],
    [
      "OpenAI",
      [
        shown("created"),
        shown("in_progress"),
        added({ type: "reasoning", summary: [] }),
        ...reasoning(0),
        ...reasoning(1),
        ofResponse("output_item.done", { item: { type: "reasoning", summary: [{ text: "hm" }, { text: "hm" }] } }),
        added({ type: "shell_call", action: { commands: [] } }, { output_index: 1 }),
        ofResponse("shell_call_command.added", { output_index: 1, command_index: 0, command: "" }),
        ofResponse("shell_call_command.delta", { output_index: 1, command_index: 0, delta: "ls" }),
        added({ type: "apply_patch_call", operation: { path: "a", diff: "" } }, { output_index: 2 }),
        ofResponse("apply_patch_call_operation_diff.delta", { output_index: 2, delta: "+a" }),
        added({ type: "mcp_call", arguments: "" }, { output_index: 3 }),
        ofResponse("mcp_call.in_progress", { output_index: 3 }),
        ofResponse("mcp_call_arguments.delta", { output_index: 3, delta: "{}" }),
        ofResponse("mcp_call_arguments.done", { output_index: 3, arguments: "{}" }),
        shown("completed", message("a")),
      ],
    ],
    [
      "vLLM, which counts parts of all items",
      [
        added({ type: "reasoning", summary: [] }),
        ofResponse("reasoning_text.delta", { content_index: 0, delta: "hm" }),
        ofResponse("reasoning_text.done", { content_index: 0, text: "hm" }),
        added({ type: "message", content: [] }, second),
        ofResponse("content_part.added", { ...second, part: outputText("") }),
        textDelta("a", second),
      ],
    ],
    [
      "llama.cpp, which writes no numbers",
      [
        { type: "response.created", response: { status: "in_progress" } },
        { type: "response.output_item.added", item: { type: "reasoning", summary: [], content: [] } },
        { type: "response.reasoning_text.delta", delta: "hm" },
        { type: "response.output_item.done", item: { type: "reasoning", content: [{ text: "hm" }] } },
        { type: "response.content_part.added", part: outputText("") },
        { type: "response.output_text.delta", delta: "a" },
      ],
    ],
    [
      "servers that start calls with their arguments",
      [
        added({ type: "function_call", arguments: '{"a":"b"}' }),
        ofResponse("function_call_arguments.done", { arguments: '{"a":"b"}' }),
        added({ type: "message", content: [] }, { output_index: 1 }),
        textDelta("a", { output_index: 1 }),
      ],
    ],
    [
      "servers without indexes",
      [{ choices: [{ delta: { content: "a", tool_calls: [{ function: { arguments: "{}" } }] } }] }],
    ],
  ])("is none of %s", (_, events) => {
    const texts = new CollectedTexts();
    for (const event of events) atOnce(texts.event(sent(event)));
    expect({ plain: texts.plain, sent: redacted(events) !== "" }).toEqual({ plain: true, sent: true });
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

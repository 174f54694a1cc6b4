import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce } from "../../../shared/steps.ts";
import { CollectedTexts } from "./collected-texts.ts";
import { RedactingEvents, redactDocument } from "./redacting-events.ts";
import { RedactionTally } from "./text-redaction.ts";

const scan = compileScan({ scanners: ["pii", "ban_keywords"], banKeywords: ["zanzibarx"] });
const encoder = new TextEncoder();

/** A document as a client gets it. */
function redacted(document: unknown): unknown {
  return JSON.parse(atOnce(redactDocument(scan, new RedactionTally(), JSON.stringify(document))));
}

/** The data of the events that a client gets for these. */
function redactedEvents(...events: readonly unknown[]): readonly unknown[] {
  const stream = new RedactingEvents(scan, new RedactionTally());
  const written = events.map((data) => atOnce(stream.event(encoder.encode(`data: ${JSON.stringify(data)}\n\n`))));
  const text = [...written, atOnce(stream.finish())].map((bytes) => new TextDecoder().decode(bytes)).join("");
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
}

/** The texts that are examined before the client gets anything. */
function collected(document: unknown, isEvent: boolean): readonly string[] {
  const texts = new CollectedTexts();
  const json = JSON.stringify(document);
  if (isEvent) atOnce(texts.event(encoder.encode(`data: ${json}\n\n`)));
  else atOnce(texts.document(json));
  return atOnce(texts.texts()).flat();
}

describe("the explanation of a refusal of messages", () => {
  const stop = (explanation: string) => ({
    stop_reason: "refusal",
    stop_details: { type: "refusal", category: null, explanation },
  });
  const ended = (explanation: string) => ({ type: "message_delta", delta: stop(explanation), usage: {} });

  it("is examined in a document and in the event that ends a stream", () => {
    expect(collected({ content: [], ...stop("zanzibarx is secret") }, false)).toEqual(["zanzibarx is secret"]);
    expect(collected(ended("zanzibarx is secret"), true)).toEqual(["zanzibarx is secret"]);
  });

  it("is redacted, in a stream within its own event", () => {
    expect(redacted({ content: [], ...stop("no zanzibarx") })).toEqual({ content: [], ...stop("no [REDACTED]") });
    const end = { type: "message_stop" };
    expect(redactedEvents(ended("no zanzibarx"), end)).toEqual([ended("no [REDACTED]"), end]);
  });
});

describe("what a tool is asked for as an object", () => {
  const used = (input: unknown) => ({ type: "tool_use", id: "i", name: "n", input });
  const given = { card: 4111111111111111, list: [-7, 4111111111111111], zanzibarx: 1, q: { deep: "zanzibarx" } };
  const clean = {
    card: "[REDACTED:CREDIT_CARD]",
    list: [-7, "[REDACTED:CREDIT_CARD]"],
    "[REDACTED]": 1,
    q: { deep: "[REDACTED]" },
  };
  const started = (input: unknown) => ({ type: "content_block_start", index: 1, content_block: used(input) });

  it("is examined with its numbers and names, in a document and in an event", () => {
    const expected = ["zanzibarx", "4111111111111111", "deep"];
    expect(collected({ content: [used(given)] }, false)).toEqual(expect.arrayContaining(expected));
    expect(collected(started(given), true)).toEqual(expect.arrayContaining(expected));
  });

  it("is redacted with its numbers and names, and stays an object", () => {
    expect(redacted({ content: [used(given)] })).toEqual({ content: [used(clean)] });
    expect(redacted({ content: [used(4111111111111111)] })).toEqual({ content: [used("[REDACTED:CREDIT_CARD]")] });
    expect(redactedEvents(started(given))).toEqual([started(clean)]);
    expect(redactedEvents(started({}))).toEqual([started({})]);
  });

  it("is whole in an event without a type, and is not repeated with the rest of another text", () => {
    const line = (content: string, calls: unknown) => ({ message: { content, tool_calls: [{ arguments: calls }] } });
    expect(redactedEvents(line("a zanzi", given))).toEqual([line("a ", clean), line("zanzi", {})]);
  });
});

describe("a member of an event that no list names", () => {
  const chunk = (content: string, vendor: string) => ({
    vendor,
    choices: [{ index: 0, delta: { content, note: vendor }, finish_reason: null }],
  });

  it("is redacted within its event, and nothing of it is held back or repeated", () => {
    const [first, second, ...rest] = redactedEvents(chunk("a zanzi", "zanzibarx"), chunk("barx b", "Deep"));
    expect({ first, second }).toEqual({ first: chunk("a ", "[REDACTED]"), second: chunk("[REDACTED] ", "Deep") });
    expect(rest).toEqual([
      { vendor: "[REDACTED]", choices: [{ index: 0, delta: { content: "b" }, finish_reason: null }] },
    ]);
  });

  it("continues what came before it where an event has one piece of a text", () => {
    const delta = (stdout: string) => ({ type: "shell_output.delta", item_id: "i", delta: { stdout } });
    const texts = redactedEvents(delta("a zanzi"), delta("barx b"), { type: "shell_output.done", item_id: "i" });
    const joined = texts.map((event) => (event as { delta?: { stdout: string } }).delta?.stdout ?? "").join("");
    expect(joined).toBe("a [REDACTED] b");
  });

  it("is examined before the client gets anything", () => {
    expect(collected(chunk("a", "zanzibarx"), true)).toEqual(expect.arrayContaining(["a", "zanzibarx"]));
    expect(collected({ output: [{ type: "shell_call_output", output: [{ stdout: "zanzibarx" }] }] }, false)).toEqual([
      "zanzibarx",
    ]);
  });
});

describe("a block that begins with a piece of its text", () => {
  const started = (type: string, text: string) => ({
    type: "content_block_start",
    index: 0,
    content_block: { type, [type]: text },
  });
  const delta = (type: string, text: string) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: `${type}_delta`, [type]: text },
  });
  const stop = { type: "content_block_stop", index: 0 };

  it.each(["text", "thinking"])("is examined with the rest of it: %s", (type) => {
    const texts = new CollectedTexts();
    for (const event of [started(type, "zanzi"), delta(type, "barx"), stop])
      atOnce(texts.event(encoder.encode(`data: ${JSON.stringify(event)}\n\n`)));
    expect(atOnce(texts.texts())).toEqual([["zanzibarx"]]);
  });

  it.each(["text", "thinking"])("is redacted with the rest of it: %s", (type) => {
    const events = redactedEvents(started(type, "a zanzi"), delta(type, "barx b"), stop);
    const texts = events.map((event) => Object.values(event as Record<string, Record<string, string>>)[2]?.[type]);
    expect({ first: events[0], text: texts.join(""), last: events.at(-1) }).toEqual({
      first: started(type, ""),
      text: "a [REDACTED] b",
      last: stop,
    });
  });

  it("passes byte for byte if it begins empty", () => {
    const stream = new RedactingEvents(scan, new RedactionTally());
    const event = encoder.encode(`event: content_block_start\ndata:${JSON.stringify(started("text", ""))}\n\n`);
    expect(atOnce(stream.event(event))).toBe(event);
  });
});

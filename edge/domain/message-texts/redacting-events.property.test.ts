/** @module-tag long */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce } from "../../../shared/steps.ts";
import { SseFilter } from "../wire/sse/sse-filter.ts";
import { eventParts } from "./answer-events.ts";
import { CollectedTexts } from "./collected-texts.ts";
import { RedactingEvents, redactDocument } from "./redacting-events.ts";
import { ArgumentsRedaction, RedactionTally } from "./text-redaction.ts";

const scan = compileScan({ scanners: ["pii", "ban_keywords"], banKeywords: ["blue falcon"] });
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The client's result for a stream whose bytes are cut at these places. */
function redacted(text: string, cuts: readonly number[] = []): { text: string; tally: RedactionTally } {
  const tally = new RedactionTally();
  const events = new RedactingEvents(scan, tally);
  const filter = new SseFilter([events], true);
  const bytes = encoder.encode(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.byteLength + 1)))].sort((a, b) => a - b);
  let out = "";
  for (const [nth, to] of [...places, bytes.byteLength].entries())
    out += decoder.decode(filter.push(bytes.subarray(places[nth - 1] ?? 0, to)));
  return { text: out + decoder.decode(filter.finish()) + decoder.decode(atOnce(events.finish())), tally };
}

const dataOf = (text: string): Record<string, ReturnType<typeof JSON.parse>>[] =>
  text
    .split("\n\n")
    .flatMap((event) => event.split("\n").filter((line) => line.startsWith("data: ")))
    .map((line) => line.slice(6))
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data));

const chunk = (index: number, delta: unknown, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: "c", model: "m", choices: [{ index, delta, finish_reason: finish }] })}\n\n`;

/** A text in pieces of at most `size` characters. */
const piecesOf = (text: string, size: number): string[] => text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];

/** The content, reasoning and arguments of each choice, as a client joins them. */
function joined(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { choices } of dataOf(text))
    for (const { index, delta = {} } of choices ?? []) {
      const add = (name: string, piece: unknown) => {
        if (typeof piece === "string") found[`${index} ${name}`] = (found[`${index} ${name}`] ?? "") + piece;
      };
      add("content", delta.content);
      add("reasoning", delta.reasoning_content);
      for (const call of delta.tool_calls ?? []) add(`call ${call.index}`, call.function?.arguments);
    }
  return found;
}

const SECRETS = "Write to jane.doe@example.com or 123-45-6789; project Blue  Falcon is on.";
const CLEAN = "Write to [REDACTED:EMAIL] or [REDACTED:SSN]; project [REDACTED] is on.";

describe("a redacted stream", () => {
  it("hides what matches, in events cut at every byte and texts cut at every character", () => {
    for (let size = 1; size < 12; size += 1) {
      const text = `${piecesOf(SECRETS, size)
        .map((content) => chunk(0, { content }))
        .join("")}${chunk(0, {}, "stop")}data: [DONE]\n\n`;
      expect(joined(redacted(text).text)).toEqual({ "0 content": CLEAN });
    }
    const text = `${piecesOf(SECRETS, 3)
      .map((content) => chunk(0, { content }))
      .join("")}${chunk(0, {}, "stop")}data: [DONE]\n\n`;
    const whole = redacted(text).text;
    for (let cut = 0; cut <= encoder.encode(text).byteLength; cut += 1) expect(redacted(text, [cut]).text).toBe(whole);
  });

  it("keeps several choices, reasoning and calls apart, however they are mixed", () => {
    const texts = fc.tuple(fc.constant(SECRETS), fc.integer({ min: 1, max: 9 }), fc.nat(2));
    fc.assert(
      fc.property(texts, texts, fc.infiniteStream(fc.boolean()), ([a, sizeA], [b, sizeB], order) => {
        const first = piecesOf(a, sizeA).map((content) => chunk(0, { content }));
        const second = piecesOf(b, sizeB).map((text) => chunk(1, { reasoning_content: text }));
        let mixed = "";
        while (first.length + second.length > 0) {
          const takeFirst = second.length === 0 || (first.length > 0 && order.next().value === true);
          mixed += (takeFirst ? first : second).shift();
        }
        const { text } = redacted(`${mixed}${chunk(0, {}, "stop")}${chunk(1, {}, "stop")}data: [DONE]\n\n`);
        expect(joined(text)).toEqual({ "0 content": CLEAN, "1 reasoning": CLEAN });
      }),
    );
  });

  it("hides the same in lines of JSON, however the text is cut, and adds up to the same text", () => {
    const words = fc.constantFrom(
      "jane@example.com",
      "blue falcon",
      "123-45-6789",
      "a",
      " ",
      "\n",
      "\\",
      "data: ",
      "😀",
    );
    const text = fc.array(words, { minLength: 1, maxLength: 12 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 9 }), fc.boolean(), (given, size, ends) => {
        const line = (content: string, done: boolean) => JSON.stringify({ message: { content }, done });
        const lines = [
          ...piecesOf(given, size).map((content) => line(content, false)),
          ...(ends ? [line("", true)] : []),
        ];
        const body = `${lines.join("\n")}\n`;
        const out = atOnce(redactDocument(scan, new RedactionTally(), body))
          .trimEnd()
          .split("\n");
        const shown = out.map((one) => (JSON.parse(one) as { message: { content: string } }).message.content).join("");
        expect(shown).toBe(scan.redactTexts([{ text: given, user: false }]).texts[0]);
        if (ends) expect(out.at(-1)).toBe(lines.at(-1));
        const seen = new CollectedTexts();
        atOnce(seen.document(body));
        expect(atOnce(seen.texts())).toEqual([[given]]);
      }),
    );
  });

  it("passes what it does not change byte for byte, and holds no event back", () => {
    const text = `: hello\n\n${chunk(0, { role: "assistant", content: "" })}${chunk(0, { content: "fine. " })}${chunk(0, {}, "stop")}data: {"choices":[],"usage":{"prompt_tokens":1}}\n\ndata: [DONE]\n\n`;
    expect(redacted(text)).toMatchObject({ text, tally: { pii: 0, ban_keywords: 0 } });
  });

  it("sends the rest of every text before the event that ends it", () => {
    const text = `${chunk(0, { content: "mail jane@exam" })}${chunk(0, { content: "ple.com" })}${chunk(0, {}, "stop")}`;
    const events = dataOf(redacted(text).text);
    expect(events.at(-1)?.["choices"][0].finish_reason).toBe("stop");
    expect(joined(redacted(text).text)).toEqual({ "0 content": "mail [REDACTED:EMAIL]" });
    expect(redacted(text).tally).toMatchObject({ pii: 1 });
  });

  it("sends the rest of a stream that ends without its last event", () => {
    expect(joined(redacted(chunk(0, { content: "mail jane@example.com" })).text)).toEqual({
      "0 content": "mail [REDACTED:EMAIL]",
    });
  });

  it("leaves valid JSON in the arguments of tool calls", () => {
    const json = JSON.stringify({
      to: "jane@example.com",
      ssn: "123-45-6789",
      n: [1, 2.5e3, true],
      q: 'say "blue falcon"',
    });
    for (let size = 1; size < 9; size += 1) {
      const calls = piecesOf(json, size).map((piece) =>
        chunk(0, { tool_calls: [{ index: 1, function: { arguments: piece } }] }),
      );
      const found = joined(redacted(`${calls.join("")}${chunk(0, {}, "tool_calls")}`).text);
      expect(JSON.parse(found["0 call 1"] ?? "")).toEqual({
        to: "[REDACTED:EMAIL]",
        ssn: "[REDACTED:SSN]",
        n: [1, 2500, true],
        q: 'say "[REDACTED]"',
      });
    }
  });

  it("redacts Responses API events: the pieces, and the complete texts that repeat them", () => {
    const event = (value: { readonly type: string } & Record<string, unknown>) =>
      `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
    const ids = { item_id: "i", output_index: 0, content_index: 0 };
    const text = [
      event({ type: "response.created", response: { instructions: "jane@example.com", output: [] } }),
      ...piecesOf(SECRETS, 4).map((delta) => event({ type: "response.output_text.delta", ...ids, delta })),
      event({ type: "response.output_text.done", ...ids, text: SECRETS }),
      event({
        type: "response.completed",
        response: { output: [{ content: [{ type: "output_text", text: SECRETS }] }] },
      }),
    ].join("");
    const events = dataOf(redacted(text).text);
    const deltas = events.filter(({ type }) => type === "response.output_text.delta");
    expect(deltas.map(({ delta }) => delta).join("")).toBe(CLEAN);
    expect(events.findLastIndex(({ type }) => type === "response.output_text.delta")).toBeLessThan(
      events.findIndex(({ type }) => type === "response.output_text.done"),
    );
    expect(events.find(({ type }) => type === "response.output_text.done")?.["text"]).toBe(CLEAN);
    expect(events.at(-1)?.["response"].output[0].content[0].text).toBe(CLEAN);
    expect(events[0]?.["response"].instructions).toBe("jane@example.com");
  });

  it("redacts Anthropic's messages", () => {
    const event = (value: { readonly type: string } & Record<string, unknown>) =>
      `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
    const text = [
      event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
      ...piecesOf(SECRETS, 5).map((piece) =>
        event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: piece } }),
      ),
      event({ type: "content_block_stop", index: 0 }),
      event({ type: "message_stop" }),
    ].join("");
    const events = dataOf(redacted(text).text);
    const pieces = events.filter(({ type }) => type === "content_block_delta").map(({ delta }) => delta.text);
    expect(pieces.join("")).toBe(CLEAN);
    expect(events.at(-2)).toEqual({ type: "content_block_stop", index: 0 });
  });

  it("leaves out the list of tokens beside a text", () => {
    const delta = { content: "jane@example.com " };
    const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta, logprobs: { content: [{ token: "jane" }] } }] })}\n\n`;
    expect(redacted(event).text).not.toContain("jane");
  });

  it("breaks off at an event that never ends, and at more texts than an answer has", () => {
    const filter = new SseFilter([new RedactingEvents(scan, new RedactionTally())], true);
    const megabyte = new Uint8Array(1024 * 1024).fill(97);
    expect(() => {
      for (let count = 0; count < 6; count += 1) filter.push(megabyte);
    }).toThrow("never ends");
    let many = "";
    for (let index = 0; index < 5000; index += 1) many += chunk(index, { content: "a" });
    expect(() => redacted(many)).toThrow("too many texts");
  });
});

describe("what is held of a redacted stream", () => {
  const held = (value: unknown, fields = ""): RedactingEvents => {
    const events = new RedactingEvents(scan, new RedactionTally());
    atOnce(events.event(encoder.encode(`${fields}data: ${JSON.stringify(value)}\n\n`)));
    return events;
  };
  const long = "x".repeat(200_000);
  const many = Array.from({ length: 3_000 }, (_, index) => ({ index, delta: { content: "jane" } }));
  const parts = Array.from({ length: 3_000 }, () => ({ text: "jane" }));

  it.each([
    ["choices beside a long member", { id: "c", padding: long, choices: many }, ""],
    ["texts of an event without choices, beside a long member", { padding: long, content: { parts } }, ""],
    ["texts under a long name", { [long.slice(0, 16_000)]: parts }, ""],
    ["texts of an item with a long id", { type: "x.delta", item_id: long, content: { parts } }, ""],
    ["texts of an event with long lines", { content: { parts } }, `: ${long}\nevent: ${long}\n`],
  ])("does not grow with the event: %s", (_, value, fields) => {
    const events = held(value, fields);
    expect(events.bytes).toBeLessThan(3_000 * 12 * 1024);
    const rest = decoder.decode(atOnce(events.finish()));
    expect(rest.split("jane")).toHaveLength(3_001);
    expect(rest.length).toBeLessThan(3_000 * 128);
  });

  it("repeats an event that is short, and of a long one what is short and where the text is", () => {
    const event = { type: "content.delta", item_id: "i", note: "n", content: { text: "jane", other: [1] } };
    expect(dataOf(decoder.decode(atOnce(held(event).finish())))).toEqual([event]);
    expect(dataOf(decoder.decode(atOnce(held({ ...event, padding: long }).finish())))).toEqual([
      { type: "content.delta", item_id: "i", note: "n", content: { text: "jane" } },
    ]);
  });

  it("is short of an event of any depth, which breaks the stream off when it cannot be written", () => {
    const [opening, closing] = ['{"content":['.repeat(100_000), "]}".repeat(100_000)];
    const data = `${opening}"jane@example.com ","and more"${closing}`;
    const { fragments } = atOnce(eventParts(JSON.parse(data)));
    expect(fragments.map(({ text, place }) => [text, place.length])).toEqual([
      ["jane@example.com ", 16],
      ["and more", 16],
    ]);
    expect(() => redacted(`data: ${data}\n\n`)).toThrow("cannot be read");
  });

  it("is taken from the memory for answers, and the stream breaks off when none is left", () => {
    let taken = 0;
    const events = new RedactingEvents(scan, new RedactionTally(), (bytes) => {
      taken += bytes;
      return taken < 100 * 1024;
    });
    const send = (index: number, finish: string | null = null) =>
      atOnce(events.event(encoder.encode(chunk(index, { content: "jane" }, finish))));
    const held = (rounds: number) => {
      for (let index = 0; index < rounds * 4; index += 1) {
        send(index % 4);
        send(index % 4, "stop");
      }
      return { taken, bytes: events.bytes };
    };
    // however often a text ends and continues
    const few = held(30);
    expect(held(250)).toEqual(few);
    expect(taken).toBeLessThan(4 * 5 * 1024);
    expect(() => {
      for (let index = 0; index < 1_000; index += 1) send(index);
    }).toThrow("no room");
  });
});

/** Every name and every text of a JSON value. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return [...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value).flatMap(textsOf)];
}

describe("redacted arguments", () => {
  const redact = (text: string, size: number): string => {
    const redaction = new ArgumentsRedaction(scan, new RedactionTally());
    return (
      piecesOf(text, size)
        .map((piece) => redaction.push(piece))
        .join("") + redaction.finish()
    );
  };

  it("mean the same when nothing matches, in pieces of any size", () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom(undefined, 2),
        (value, size, space) => {
          // a number of many digits may be one of a card
          const short = (_: string, inner: unknown) => (typeof inner === "number" ? Math.trunc(inner % 1000) : inner);
          const harmless = JSON.stringify(value, short, space);
          const texts = textsOf(value).map((text) => ({ text, user: false }));
          // drawn at random, a name or a text may be an address of mail
          fc.pre(scan.redactTexts(texts).texts.every((text, at) => text === texts[at]?.text));
          const found = JSON.parse(redact(harmless, size));
          expect(found).toEqual(JSON.parse(harmless));
        },
      ),
    );
  });

  it.each([
    ['{"a":"j\\u0061ne@example.com"}', '{"a":"[REDACTED:EMAIL]"}'],
    ['{"jane@example.com":1}', '{"[REDACTED:EMAIL]":1}'],
    ["call 123-45-6789 now", "call [REDACTED:SSN] now"],
    ['{"a":1} mail jane@example.com', '{"a":1} mail [REDACTED:EMAIL]'],
    ['{"a":"jane@example.com', '{"a":"[REDACTED:EMAIL]'],
    ['{"ssn":123-45-6789}', '{"ssn":"[REDACTED:SSN]"}'],
  ])("%s", (given, expected) => {
    for (let size = 1; size < 8; size += 1) expect(redact(given, size)).toBe(expected);
  });
});

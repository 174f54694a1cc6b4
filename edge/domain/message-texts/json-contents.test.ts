/** Texts of an answer that are JSON: clients that parse them get other texts than they show (docs/rules/guardrails.md#where-it-looks). */
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce } from "../../../shared/steps.ts";
import { CollectedTexts } from "./collected-texts.ts";
import { ALL } from "./redacted-texts.ts";
import { RedactingEvents, redactDocument } from "./redacting-events.ts";
import { RedactionTally } from "./text-redaction.ts";

const scan = compileScan({ scanners: ["pii", "ban_keywords"], banKeywords: ["blue falcon"] });
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const sent = (event: object): Uint8Array => encoder.encode(`data: ${JSON.stringify(event)}\n\n`);

/** How many matches `block` finds in a document, and in a stream. */
function found(texts: CollectedTexts): number {
  return atOnce(texts.texts()).flatMap((parts) =>
    atOnce(
      scan.scanning(
        parts.map((text) => ({ text, user: false })),
        ALL,
      ),
    ),
  ).length;
}
function inDocument(document: object): number {
  const texts = new CollectedTexts();
  atOnce(texts.document(JSON.stringify(document)));
  return found(texts);
}
function inStream(events: readonly object[]): number {
  const texts = new CollectedTexts();
  for (const event of events) atOnce(texts.event(sent(event)));
  return found(texts);
}

/** The text of the contents of a redacted stream of chat. */
function redactedStream(pieces: readonly string[]): string {
  const stream = new RedactingEvents(scan, new RedactionTally());
  const events = pieces.map((content) => decoder.decode(atOnce(stream.event(sent(chunk(content))))));
  return [...events, decoder.decode(atOnce(stream.finish()))]
    .flatMap((text) => [...text.matchAll(/data: (.*)/g)])
    .map(([, data = ""]) => JSON.parse(data).choices[0].delta.content ?? "")
    .join("");
}

function redacted(content: unknown): unknown {
  const document = JSON.stringify({ choices: [{ message: { content } }] });
  return JSON.parse(atOnce(redactDocument(scan, new RedactionTally(), document))).choices[0].message.content;
}

const chunk = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
const message = (content: unknown) => ({ choices: [{ message: { content } }] });

const CARD = "[REDACTED:CREDIT_CARD]";
const HIDDEN: readonly (readonly [name: string, text: string, value: unknown])[] = [
  ["an escaped blank", '{"a":"blue\\u0020falcon x"}', { a: "[REDACTED] x" }],
  ["an escaped letter", '\n {"a":["blue \\u0066alcon"]}', { a: ["[REDACTED]"] }],
  ["an escaped letter of a name", '[{"blue \\u0066alcon":1}]', [{ "[REDACTED]": 1 }]],
  ["an address of mail", '{"a":"jane\\u0040example.com"}', { a: "[REDACTED:EMAIL]" }],
  ["a string alone", '"blue\\u0020falcon"', "[REDACTED]"],
  ["an exponent", '{"card": 4.111111111111111e15}', { card: CARD }],
  ["a negative exponent", '{"card":[41111111111111110e-1 ]}', { card: [CARD] }],
  ["a fraction that is rounded", '{"card":4111111111111110.9999}', { card: CARD }],
];

describe.each(HIDDEN)("JSON with %s", (_, text, value) => {
  it("is found in documents and streams of each API", () => {
    const delta = { type: "response.output_text.delta", output_index: 0, content_index: 0 };
    const block = { type: "content_block_delta", index: 0 };
    const [first, rest] = [text.slice(0, 12), text.slice(12)];
    const counts = [
      inDocument(message(text)),
      inDocument(
        message([
          { type: "text", text: first },
          { type: "text", text: rest },
        ]),
      ),
      inDocument({ output: [{ type: "message", content: [{ type: "output_text", text }] }] }),
      inDocument({ content: [{ type: "text", text }] }),
      inDocument({ whatever: text }),
      inStream([chunk(first), chunk(rest)]),
      inStream([
        { ...delta, delta: first },
        { ...delta, delta: rest },
      ]),
      inStream([first, rest].map((piece) => ({ ...block, delta: { type: "text_delta", text: piece } }))),
      inStream([{ choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } }] }]),
    ];
    expect(counts.filter((count) => count === 0)).toEqual([]);
  });

  it("stays JSON without it, in documents and streams in pieces of any size", () => {
    const pieces = (size: number) => text.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
    const results = [redacted(text), ...[1, 2, 5, 1000].map((size) => redactedStream(pieces(size)))];
    expect(results.map((result) => JSON.parse(String(result)))).toEqual(results.map(() => value));
    const parts = redacted([{ text: text.slice(0, 12) }, { text: text.slice(12) }]) as { text: string }[];
    expect(JSON.parse(parts.map((part) => part.text).join(""))).toEqual(value);
  });
});

it.each([
  ["JSON with escapes", '{"caf\\u00e9":"\\/ \\ud83d\\ude00 \\n","b":[1.50, 2E1]}'],
  ["prose in quotes", '"\\alpha, \\u0041 and\nC:\\x" she said "\\u00e9"'],
  ["a link of Markdown", "[true \\[x\\] falcon](a) 1.0e5"],
  ["JSON that is cut off", '{"a":"b\\u00'],
])("a text without matches passes as it came: %s", (_, text) => {
  const byOne = redactedStream(text.split(""));
  expect([redacted(text), redactedStream([text]), byOne]).toEqual([text, text, text]);
});

it.each([
  ["words of letters that JSON has", "[blue falcon](a)", "[[REDACTED]](a)"],
  ["a quote", '"I" say blue falcon', '"I" say [REDACTED]'],
  ["a string before text", '"C:\\blue falcon" is', '"C:\\[REDACTED]" is'],
])("a text that only starts like JSON is redacted as it stands: %s", (_, text, expected) => {
  expect([redacted(text), redactedStream([text]), inDocument(message(text)) > 0]).toEqual([expected, expected, true]);
});

it("a long string in one piece of a redacted stream is passed on as it stands", () => {
  const long = `{"a":"${"x".repeat(1_000_000)}"}`;
  expect(redactedStream([long]) === long).toBe(true);
});

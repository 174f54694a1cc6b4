/**
 * The output of redaction for an event, and the data gathered from it, is bounded by the event
 * (docs/rules/guardrails.md#actions): nothing that the event contains once is repeated with each of its texts. Bytes and units
 * are counted, never time.
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce } from "../../../shared/steps.ts";
import { AT_ONCE_MAX, watchJson } from "../../../test/harness/edge/work-at-once.ts";
import { SseFilter } from "../wire/sse/sse-filter.ts";
import { CollectedTexts } from "./collected-texts.ts";
import { RedactingEvents } from "./redacting-events.ts";
import { RedactionTally } from "./text-redaction.ts";

const scan = compileScan({ scanners: ["ban_keywords"], banKeywords: ["denword"] });
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const streamOf = (events: readonly object[]): Uint8Array =>
  encoder.encode(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
const texts = (count: number): readonly string[] => Array.from({ length: count }, () => "a");

/** Gathers texts, and counts the characters that are kept. */
function counting(roomCharacters: number) {
  const kept = { characters: 0 };
  const collected = new CollectedTexts((more) => {
    kept.characters += more;
    return kept.characters <= roomCharacters;
  });
  return { collected, kept };
}

/** The client's result for these events. */
function redacted(bytes: Uint8Array): string {
  const redacting = new RedactingEvents(scan, new RedactionTally());
  const passed = atOnce(new SseFilter([redacting], true).pushing(bytes));
  return decoder.decode(passed) + decoder.decode(atOnce(redacting.finish()));
}

const COMPLETED = { type: "x.completed" };

describe("the rests of very many texts of one event", () => {
  it.each<[string, object, number]>([
    ["a list of texts", { content: texts(400) }, 40],
    ["a list of texts beside a long member", { pad: "x ".repeat(8_200), content: texts(400) }, 4],
    ["texts at a deep place", { ["n".repeat(900)]: { ["m".repeat(900)]: { content: texts(400) } } }, 10],
    [
      "choices",
      { name: "n".repeat(2_000), choices: texts(400).map((content, index) => ({ index, delta: { content } })) },
      10,
    ],
    [
      "calls of one choice",
      {
        name: "n".repeat(2_000),
        choices: [
          {
            index: 0,
            delta: { tool_calls: texts(400).map((content) => ({ function: { arguments: `"${content}"` }, content })) },
          },
        ],
      },
      10,
    ],
  ])("come in one event: %s", (_, event, pairs) => {
    const all = Array.from({ length: pairs }, () => [event, COMPLETED]).flat();
    const sent = streamOf(all);
    const text = redacted(sent);
    expect({ length: text.length, isBounded: text.length < sent.byteLength * 4 }).toEqual({
      length: text.length,
      isBounded: true,
    });
  });

  it("have the shape of their event: one object for a choice, with all that was held back", () => {
    const delta = {
      content: "den",
      reasoning_content: "den",
      tool_calls: [{ index: 1, function: { arguments: '{"a":"den' } }],
    };
    const text = redacted(
      streamOf([
        {
          id: "c",
          choices: [
            { index: 0, delta },
            { index: 2, delta: { content: "den" } },
          ],
        },
      ]),
    );
    const rest = text.split("\n\n").at(-2) ?? "";
    expect(JSON.parse(rest.slice("data: ".length))).toEqual({
      id: "c",
      choices: [
        {
          index: 0,
          delta: {
            content: "den",
            reasoning_content: "den",
            tool_calls: [{ index: 1, function: { arguments: "den" } }],
          },
          finish_reason: null,
        },
        { index: 2, delta: { content: "den" }, finish_reason: null },
      ],
    });
  });
});

describe("texts at a deep place", () => {
  const deep = (depth: number): object =>
    depth === 0 ? { content: texts(2_000) } : { ["n".repeat(200)]: deep(depth - 1) };
  const sent = streamOf([deep(13)]);

  it("are gathered only as far as there is room for what tells them apart", () => {
    const roomCharacters = 100_000;
    const { collected, kept } = counting(roomCharacters);
    atOnce(new SseFilter([collected], true).pushing(sent));
    const { characters } = kept;
    expect({ characters, whole: collected.whole, isBounded: characters < 2 * roomCharacters }).toEqual({
      characters,
      whole: false,
      isBounded: true,
    });
  });

  it("count with their place while they are under way", () => {
    const redacting = new RedactingEvents(scan, new RedactionTally());
    atOnce(redacting.event(sent));
    expect(redacting.bytes / 2_000).toBeGreaterThan(2_048 + 500);
  });
});

it("an event with very many members is not copied whole to be repeated with its rest", () => {
  const members = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`n${at}`, "x".repeat(100)]));
  const bytes = streamOf([{ ...members, type: "x.delta", delta: "den" }, COMPLETED]);
  const longest = watchJson();
  const text = redacted(bytes);
  const most = longest();
  expect({ most, isBounded: most <= AT_ONCE_MAX }).toEqual({ most, isBounded: true });
  expect(text).toContain('"n0":"xxx');
});

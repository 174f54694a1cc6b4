/**
 * What is one long text, one list or one event is handled in steps as well (docs/rules/request-bodies.md#work). Characters, bytes and
 * units are counted, never timed.
 */
import { describe, expect, it } from "vitest";
import { compileScan } from "../../../shared/guardrails/text-scan.ts";
import { atOnce, type Steps } from "../../../shared/steps.ts";
import { STEP_MAX, toldBy } from "../../../test/harness/edge/told-by.ts";
import { watchedCalls } from "../../../test/harness/edge/watched-calls.ts";
import { isUnreadJson, parsedBytes, parsedInSteps } from "../wire/json/parse-in-steps.ts";
import { readEvent } from "./answer-events.ts";
import { CollectedTexts } from "./collected-texts.ts";
import { RedactingEvents } from "./redacting-events.ts";
import { RedactionTally } from "./text-redaction.ts";

const LENGTH = 1024 * 1024;
const AT_ONCE = 128 * 1024;
const encoder = new TextEncoder();
const events = (): RedactingEvents =>
  new RedactingEvents(compileScan({ scanners: ["ban_keywords"], banKeywords: ["falcon"] }), new RedactionTally());
const dataOf = (value: unknown): Uint8Array => encoder.encode(`data: ${JSON.stringify(value)}\n\n`);

/** The size of the longest thing that these methods get: as `this`, or as their argument. */
function longestOf(methods: Parameters<typeof watchedCalls>[0], work: () => unknown): number {
  let longest = 0;
  const sizeOf = (value: unknown): number =>
    ArrayBuffer.isView(value) ? value.byteLength : typeof value === "string" ? value.length : 0;
  const seen = (of: unknown, first: unknown): void => {
    longest = Math.max(longest, sizeOf(of), sizeOf(first));
  };
  watchedCalls(methods, seen, work);
  return longest;
}

describe("one long value", () => {
  const CODERS = [
    [JSON, "parse"],
    [TextEncoder.prototype, "encode"],
    [TextDecoder.prototype, "decode"],
  ] as const;
  const inner = ["a", "\\n", "\\u4e00", "\u4e00", '\\"', "\\\\"];
  it.each<[string, string, boolean]>([
    ...inner.flatMap((unit): [string, string, boolean][] => [
      [`a string of ${unit}`, `"${unit.repeat(LENGTH / unit.length)}"`, true],
      [`a member of ${unit}`, `{"a":"b","text":"${unit.repeat(LENGTH / unit.length)}","c":[1]}`, true],
    ]),
    ["digits", "1".repeat(LENGTH), false],
    ["blanks", " ".repeat(LENGTH), false],
    ["a string without an end", `"${"a".repeat(LENGTH)}`, false],
  ])("is parsed, encoded and decoded part by part: %s", (_, json, isJson) => {
    const bytes = encoder.encode(json);
    const found: unknown[] = [];
    const longest = longestOf(CODERS, () => found.push(atOnce(parsedInSteps(json)), atOnce(parsedBytes(bytes))));
    const expected: unknown = isJson ? JSON.parse(json) : undefined;
    const told = [toldBy(parsedInSteps(json)).largest, toldBy(parsedBytes(bytes)).largest];
    expect(found).toEqual([expected, expected]);
    expect({ longest, told, isBounded: longest <= AT_ONCE && Math.max(...told) <= STEP_MAX }).toEqual({
      longest,
      told,
      isBounded: true,
    });
  });

  it("shows by its start whether others may take it for JSON", () => {
    const texts = [
      "1".repeat(LENGTH),
      `[${"1".repeat(LENGTH)}`,
      " ".repeat(LENGTH),
      `${" ".repeat(LENGTH)}a`,
      "a".repeat(LENGTH),
    ];
    let found: readonly boolean[] = [];
    const longest = longestOf([[RegExp.prototype, "test"]], () => (found = texts.map(isUnreadJson)));
    expect({ longest, isBounded: longest <= AT_ONCE, found }).toEqual({
      longest,
      isBounded: true,
      found: [true, true, true, true, false],
    });
  });
});

describe("one long line", () => {
  it.each(["\v", "\f", "\u2028"])("is taken apart line by line where others see lines: %j", (end) => {
    const text = `a${end}`.repeat(LENGTH / 2);
    const read = (): Steps<void> => new CollectedTexts().document(text);
    const longest = longestOf([[String.prototype, "match"]], () => atOnce(read()));
    expect({ longest, isBounded: longest <= AT_ONCE }).toEqual({ longest, isBounded: true });
  });
});

describe("one event", () => {
  const below = (at: number): unknown => {
    let value: unknown = { content: "a fal" };
    for (let depth = 0; depth < 12; depth += 1) value = { [`n${depth}_${at}`]: value };
    return value;
  };
  const COUNT = 4_000;

  it("with many texts deep in it is written again step by step", () => {
    const redacting = events();
    const choices = Array.from({ length: COUNT }, (_, index) => ({ index, delta: { a: below(index) } }));
    atOnce(redacting.event(dataOf({ choices })));
    const { largest, steps } = toldBy(redacting.event(encoder.encode("data: [DONE]\n\n")));
    expect({ largest, isBounded: largest <= STEP_MAX, isInSteps: steps > 10 * COUNT }).toEqual({
      largest,
      isBounded: true,
      isInSteps: true,
    });
  });

  it("with many names is looked at name by name", () => {
    const names = Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`m${at}`, 1]));
    let most = 0;
    const seen = (_: unknown, first: unknown): void => {
      most = Math.max(most, Object.keys(Object(first)).length);
    };
    watchedCalls([[Object, "entries"]], seen, () =>
      atOnce(events().event(dataOf({ content: "a", type: "x.delta", ...names }))),
    );
    expect({ most, isBounded: most <= 16 * 1024 }).toEqual({ most, isBounded: true });
  });
});

it.each(["data: a", "stray"])("an event of very many lines is joined some at a time: %s", (line) => {
  const lines = 20_000;
  const bytes = encoder.encode(`${`${line}\n`.repeat(lines)}\n`);
  let [most, text] = [0, ""];
  const seen = (of: unknown): void => {
    most = Math.max(most, Array.isArray(of) ? of.length : 0);
  };
  watchedCalls([[Array.prototype, "join"]], seen, () => {
    const { data, stray } = atOnce(readEvent(bytes));
    text = data ?? stray;
  });
  expect(text).toBe(Array.from({ length: lines }, () => line.replace("data: ", "")).join("\n"));
  expect({ most, isBounded: most <= 1_024 }).toEqual({ most, isBounded: true });
});

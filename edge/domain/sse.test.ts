import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isUsageEvent, SseSplitter } from "./sse.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The events of a text that arrives in pieces cut at the given places. */
function split(text: string, cuts: readonly number[]): { events: string[]; rest: string } {
  const bytes = encoder.encode(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.byteLength + 1)))].sort((a, b) => a - b);
  const splitter = new SseSplitter();
  const events: string[] = [];
  let from = 0;
  for (const to of [...places, bytes.byteLength]) {
    for (const event of splitter.push(bytes.subarray(from, to))) events.push(decoder.decode(event));
    from = to;
  }
  return { events, rest: decoder.decode(splitter.finish()) };
}

const usage = 'data: {"choices":[],"usage":{"prompt_tokens":1}}';

describe("splitting a stream", () => {
  it.each(["\n", "\r\n", "\r"])("changes no byte and finds every event, split anywhere, with line ends %j", (end) => {
    const event = fc.constantFrom(
      `data: {"a":"ü€😀"}${end}${end}`,
      `: comment${end}event: x${end}data: 1${end}data: 2${end}${end}`,
      `${usage}${end}${end}`,
      `data: [DONE]${end}${end}`,
    );
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 5 }), fc.array(fc.nat(2000)), (events, cuts) => {
        const result = split(events.join(""), cuts);
        expect(result.events.join("") + result.rest).toBe(events.join(""));
        const found = [...result.events, result.rest].filter((text) => isUsageEvent(encoder.encode(text))).length;
        expect(found).toBe(events.filter((text) => text.startsWith(usage)).length);
      }),
    );
  });

  it("finds the same events at every single byte", () => {
    const text = `data: one\n\n${usage}\r\n\r\ndata: three\n\n`;
    const every = Array.from({ length: text.length }, (_, at) => at);
    expect(split(text, every).events.filter((event) => isUsageEvent(encoder.encode(event)))).toHaveLength(1);
    expect(split(text, []).events).toHaveLength(3);
  });

  it("lets an event without end through, bounded", () => {
    const splitter = new SseSplitter();
    let passed = 0;
    for (let count = 0; count < 40; count += 1)
      for (const event of splitter.push(new Uint8Array(65_536).fill(97))) passed += event.byteLength;
    expect(passed + splitter.finish().byteLength).toBe(40 * 65_536);
    expect(passed).toBeGreaterThan(0);
  });
});

describe("the usage event", () => {
  it.each([
    [usage, true],
    ['data:{"choices":[],"usage":{}}', true],
    ['data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":1}}', false],
    ['data: {"choices":[],"usage":null}', false],
    ['data: {"usage":{"prompt_tokens":1}}', false],
    ["data: [DONE]", false],
    ['data: "usage"', false],
  ])("%s: %s", (text, expected) => {
    expect(isUsageEvent(encoder.encode(`${text}\n\n`))).toBe(expected);
  });
});

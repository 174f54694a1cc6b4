import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toldBy } from "../../../../test/harness/edge/told-by.ts";
import { usagePlan } from "../../../../test/harness/edge/usage-plan.ts";
import type { ResponseTransform } from "./response-transform.ts";
import { SseFilter } from "./sse-filter.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const withholding = () => [usagePlan().response?.()].filter((transform) => transform !== undefined);

/** The output for a text that arrives in pieces cut at the given places, and the rest at its end. */
function sift(text: string, cuts: readonly number[], withholdUsage: boolean): { passed: string[]; rest: string } {
  const bytes = encoder.encode(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.byteLength + 1)))].sort((a, b) => a - b);
  const sieve = new SseFilter(withholdUsage ? withholding() : []);
  const passed: string[] = [];
  let from = 0;
  for (const to of [...places, bytes.byteLength]) {
    passed.push(decoder.decode(sieve.push(bytes.subarray(from, to))));
    from = to;
  }
  return { passed, rest: decoder.decode(sieve.finish()) };
}

const usage = 'data: {"choices":[],"usage":{"prompt_tokens":1}}';
/** The events of a text without their line ends: half of one that was split from the other half may stay behind. */
const partsOf = (text: string): string[] =>
  text
    .replaceAll(/\r\n?/g, "\n")
    .split(/\n\n+/)
    .map((part) => part.trim())
    .filter(Boolean);
const everyByte = (text: string): number[] => Array.from({ length: text.length }, (_, at) => at);

describe("sifting a stream", () => {
  it.each([
    ["\n", usage],
    ["\r\n", 'data: {"usage":{}, "choices": [ ] }'],
    ["\r", 'data: {"choices":[\rdata: ],\rdata: "usage":{}}'],
  ])("changes no byte but for the usage event, split anywhere, with line ends %j", (end, report) => {
    const event = fc.constantFrom(
      `data: {"a":"ü€😀"}${end}${end}`,
      `data: {"choices":[{"tool_calls":[]}],"usage":null}${end}${end}`,
      `: comment${end}event: x${end}data: 1${end}data: 2${end}${end}`,
      `${report}${end}${end}`,
      `data: [DONE]${end}${end}`,
    );
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 6 }), fc.array(fc.nat(2000)), (events, cuts) => {
        const whole = sift(events.join(""), cuts, false);
        expect(whole.passed.join("") + whole.rest).toBe(events.join(""));
        const kept = events.filter((text) => !text.startsWith(report)).join("");
        const sifted = sift(events.join(""), cuts, true);
        expect(partsOf(sifted.passed.join("") + sifted.rest)).toEqual(partsOf(kept));
      }),
    );
  });

  it("shows no transform a run of blank lines, and tells of work for each short event", () => {
    let shown = 0;
    const transform: ResponseTransform = {
      concerns: () => true,
      *event(event) {
        shown += 1;
        yield 1;
        return event;
      },
    };
    const toldOf = (text: string) => {
      shown = 0;
      const { units, largest } = toldBy(new SseFilter([transform]).pushing(encoder.encode(text)));
      return { shown, isTold: units >= 100 * shown, isInSteps: largest <= 128 };
    };
    expect({ blank: toldOf("\n".repeat(1_000)), short: toldOf("data:\r\n\r\n\n".repeat(1_000)) }).toEqual({
      blank: { shown: 0, isTold: true, isInSteps: true },
      short: { shown: 1_000, isTold: true, isInSteps: true },
    });
  });

  it("passes every event at its last byte, and nothing of an incomplete one", () => {
    const text = `data: one\n\n${usage}\n\ndata: three\n\n`;
    const { passed } = sift(text, everyByte(text), true);
    expect(passed.filter((part) => part !== "")).toEqual(["data: one\n\n", "data: three\n\n"]);
    expect(sift(text, [], true).passed).toEqual(["data: one\n\ndata: three\n\n"]);
    expect(sift("data: one\n\ndata: two\n", [], true)).toEqual({ passed: ["data: one\n\n"], rest: "data: two\n" });
  });

  it("withholds a usage event that lacks its blank line", () => {
    expect(sift(`data: one\n\n${usage}`, [3], true).rest).toBe("");
    expect(sift(`data: one\n\n${usage}`, [3], false).rest).toBe(usage);
  });

  it("lets an event without end through, bounded", () => {
    const sieve = new SseFilter(withholding());
    let passed = 0;
    for (let count = 0; count < 40; count += 1) passed += sieve.push(new Uint8Array(65_536).fill(97)).byteLength;
    expect(passed).toBeGreaterThan(0);
    expect(passed + sieve.finish().byteLength).toBe(40 * 65_536);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type SeenUsage, UsageScan } from "./usage-scan.ts";

function scan(text: string, size: number, content = true): SeenUsage {
  const bytes = new TextEncoder().encode(text);
  const usage = new UsageScan({ content });
  for (let at = 0; at < bytes.byteLength; at += size) usage.push(bytes.subarray(at, at + size));
  return usage.usage();
}

describe("the usage of a body", () => {
  it("is the last one reported, however the bytes arrive and however much is around it", () => {
    fc.assert(
      fc.property(fc.nat(20_000), fc.nat(20_000), fc.integer({ min: 1, max: 5000 }), (before, after, size) => {
        const [some, more] = [String.raw`\"`.repeat(before), " ".repeat(after)];
        const text = `{"prompt_tokens":1,"usage":{"completion_tokens":2},"a":"${some}","usage":{"prompt_tokens": 30, "completion_tokens" :40}${more}}\n`;
        const { reported, upToDate, final } = scan(text, size);
        expect(reported).toEqual({ inputTokens: 30, outputTokens: 40 });
        expect([upToDate, final]).toEqual([true, true]);
      }),
      { numRuns: 50 },
    );
  });

  it("may stand beside it, and its halves apart", () => {
    const text = `{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens": 123456, "completion_tokens": 654321}`;
    for (const size of [1, 7, 700])
      expect(scan(text, size).reported).toEqual({ inputTokens: 123_456, outputTokens: 654_321 });
  });

  it.each<[string, object, number | null, number | null]>([
    ["of the outermost object", { usage: { input_tokens: 5, output_tokens: 6 } }, 5, 6],
    ["with half of it", { usage: { prompt_tokens: 5, prompt_tokens_details: { input_tokens: 1 } } }, 5, null],
    ["of a response", { response: { usage: { input_tokens: 5, output_tokens: 6 } } }, 5, 6],
    ["of a message", { message: { usage: { input_tokens: 5, output_tokens: 6 } } }, 5, 6],
    ["of a corner", { x_groq: { usage: { prompt_tokens: 5, completion_tokens: 6 } } }, 5, 6],
    ["of a choice", { choices: [{}, { usage: { prompt_tokens: 5, completion_tokens: 6 } }] }, 5, 6],
    ["of a rerank", { meta: { billed_units: { search_units: 1 }, tokens: { input_tokens: 5 } } }, 5, null],
    [
      "in two units",
      { usage: { billed_units: { input_tokens: 1 }, tokens: { input_tokens: 5 }, output_tokens: 6 } },
      5,
      6,
    ],
    ["of a count of tokens", { object: "response.input_tokens", input_tokens: 5 }, 5, null],
    ["of anything else", { result: { usage: { prompt_tokens: 5, completion_tokens: 6 } } }, null, null],
    ["of a list", [{ usage: { prompt_tokens: 5, completion_tokens: 6 } }], null, null],
    ["below a response", { response: { a: { usage: { input_tokens: 5, output_tokens: 6 } } } }, null, null],
    ["below a choice", { choices: [{ message: { usage: { input_tokens: 5, output_tokens: 6 } } }] }, null, null],
    ["in choices by name", { choices: { a: { usage: { input_tokens: 5, output_tokens: 6 } } } }, null, null],
    ["in a list", { usage: [{ input_tokens: 5, output_tokens: 6 }] }, null, null],
    ["in a text", { a: '"usage":{"input_tokens":5,"output_tokens":6}', b: '\\"usage":{"' }, null, null],
    ["nowhere", { choices: [] }, null, null],
  ])("may be that %s", (_, body, inputTokens, outputTokens) => {
    const reported = inputTokens === null && outputTokens === null ? null : { inputTokens, outputTokens };
    for (const size of [1, 1000])
      for (const content of [true, false]) expect(scan(JSON.stringify(body), size, content).reported).toEqual(reported);
  });

  it("of one that is no document is that of its events, whatever the route is billed by", () => {
    const text =
      'event: done\ndata: {"type":"image_generation.completed","usage":{"input_tokens":5,"output_tokens":6}}\n\n';
    expect(scan(text, 9, false)).toMatchObject({ reported: { inputTokens: 5, outputTokens: 6 }, final: true });
    expect(scan(`hello "usage": {"input_tokens":5,"output_tokens":6}`, 9, false).reported).toBeNull();
  });

  it("takes the input from an earlier document when the last one reports output alone, cut anywhere", () => {
    const text = `{"usage":{"input_tokens":11,"output_tokens":1}}${"x".repeat(9)}\n{"usage":{"output_tokens":22}}`;
    for (let size = 1; size <= text.length; size += 1)
      expect(scan(text, size)).toMatchObject({ reported: { inputTokens: 11, outputTokens: 22 }, final: true });
  });

  it("is final at the end of the document, and not before", () => {
    const text = '{"usage":{"input_tokens":11,"output_tokens":1},"choices":[{"message":{"content":"hello"}}]}';
    expect(scan(text.slice(0, -1), 8)).toMatchObject({ upToDate: true, final: false });
    expect(scan(text, 8)).toMatchObject({ upToDate: true, final: true, seenTokens: 1 });
  });
});

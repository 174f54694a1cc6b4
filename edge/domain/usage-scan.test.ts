import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UsageScan } from "./usage-scan.ts";
import { TAIL_BYTES } from "./usage-tail.ts";

function scan(text: string, size: number): UsageScan {
  const bytes = new TextEncoder().encode(text);
  const usage = new UsageScan({ content: true });
  for (let at = 0; at < bytes.byteLength; at += size) usage.push(bytes.subarray(at, at + size));
  return usage;
}

describe("the usage of a body", () => {
  it("is the last one reported in the last 16 KiB, however the bytes arrive", () => {
    fc.assert(
      fc.property(fc.nat(20_000), fc.integer({ min: 1, max: 5000 }), (padding, size) => {
        const text = `{"prompt_tokens":1,"completion_tokens":2}${"x".repeat(padding)}{"usage":{"prompt_tokens": 30, "completion_tokens" :40}}`;
        expect(scan(text, size).usage().reported).toEqual({ inputTokens: 30, outputTokens: 40 });
      }),
      { numRuns: 50 },
    );
  });

  it("is the last one wherever its halves stand before the end", () => {
    fc.assert(
      fc.property(fc.nat(1500), fc.nat(1500), (between, after) => {
        const [some, more] = [" ".repeat(between), " ".repeat(after)];
        const text = `{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens": 123456,${some}"completion_tokens": 654321}${more}`;
        expect(scan(text, 700).usage().reported).toEqual({ inputTokens: 123_456, outputTokens: 654_321 });
      }),
    );
  });

  it("may be called input and output, and may have only one half", () => {
    expect(scan('{"usage":{"input_tokens":5,"output_tokens":6}}', 3).usage().reported).toEqual({
      inputTokens: 5,
      outputTokens: 6,
    });
    expect(scan('{"usage":{"prompt_tokens":5,"prompt_tokens_details":{"cached":1}}}', 9).usage().reported).toEqual({
      inputTokens: 5,
      outputTokens: null,
    });
  });

  it("is none when nothing is reported, or only before the tail", () => {
    expect(scan('{"choices":[]}', 4).usage().reported).toBeNull();
    expect(scan(`{"prompt_tokens":1}${"x".repeat(TAIL_BYTES)}`, 1000).usage().reported).toBeNull();
  });

  it("is the same however large the pieces are, also when the input is reported in the first bytes alone", () => {
    const body = (padding: number): string =>
      `{"usage":{"input_tokens":11,"output_tokens":1}}${"x".repeat(padding)}{"usage":{"output_tokens":22}}`;
    fc.assert(
      fc.property(
        fc.integer({ min: TAIL_BYTES, max: 5 * TAIL_BYTES }),
        fc.array(fc.integer({ min: 1, max: 3 * TAIL_BYTES }), { minLength: 1, maxLength: 8 }),
        (padding, sizes) => {
          const bytes = new TextEncoder().encode(body(padding));
          const usage = new UsageScan({ content: true });
          for (let at = 0, piece = 0; at < bytes.byteLength; piece += 1) {
            const size = sizes[piece % sizes.length] ?? 1;
            usage.push(bytes.subarray(at, at + size));
            at += size;
          }
          expect(usage.usage().reported).toEqual({ inputTokens: 11, outputTokens: 22 });
          expect(usage.bytes).toBe(bytes.byteLength);
        },
      ),
    );
  });

  it("takes the input from the first event when the last ones report output alone", () => {
    const text = `{"usage":{"input_tokens":11,"output_tokens":1}}${"x".repeat(50_000)}{"usage":{"output_tokens":22}}`;
    for (const size of [1, 1000, 60_000])
      expect(scan(text, size).usage().reported).toEqual({ inputTokens: 11, outputTokens: 22 });
  });
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { BytePattern } from "./byte-pattern.ts";

const few = (minLength: number, maxLength: number): fc.Arbitrary<Uint8Array> =>
  fc.array(fc.constantFrom(0x2d, 0x61, 0x62), { minLength, maxLength }).map((bytes) => new Uint8Array(bytes));

it("finds the first place where a pattern stands, or where it may have begun", () => {
  fc.assert(
    fc.property(few(1, 8), few(0, 60), fc.nat(10), (pattern, bytes, start) => {
      const from = Math.min(start, bytes.byteLength);
      const standsAt = (at: number): boolean =>
        pattern.every((byte, offset) => at + offset >= bytes.byteLength || bytes[at + offset] === byte);
      let expected = from;
      while (!standsAt(expected)) expected += 1;
      expect(new BytePattern(pattern).find(bytes, from)).toBe(expected);
    }),
    { numRuns: 1000 },
  );
});

/** Bytes that grow: bytes that were read stay as they were, and so do the pieces that they were made from. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { GrowingBytes } from "./growing-bytes.ts";

it("are what came, in order, and never more than twice as much in memory", () => {
  const sizes = fc.array(fc.oneof(fc.nat(3), fc.nat(500), fc.nat(100_000)), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(sizes, (lengths) => {
      const pieces = lengths.map((length, nth) => new Uint8Array(length + 2).fill(nth).subarray(1, length + 1));
      const [first = new Uint8Array(0), ...rest] = pieces;
      const growing = new GrowingBytes(first);
      const seen = [growing.bytes()];
      for (const piece of rest) {
        const before = growing.byteLength;
        growing.append(piece);
        seen.push(growing.bytes(before));
      }
      expect(seen).toEqual(pieces);
      expect(growing.bytes()).toEqual(Uint8Array.from(pieces.flatMap((piece) => [...piece])));
      expect(growing.bytes().buffer.byteLength).toBeLessThanOrEqual(2 * growing.byteLength + 2);
      expect(first.buffer).toEqual(new Uint8Array(first.byteLength + 2).buffer);
    }),
    { numRuns: 50 },
  );
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { fromBase64, toBase64 } from "./base64.ts";

it("base64 is the same as that of another implementation, and decodes to the same bytes", () => {
  const lengths = fc.oneof(fc.nat(100), fc.integer({ min: 8190, max: 8194 }), fc.integer({ min: 16_383, max: 16_386 }));
  const bytes = lengths.chain((length) => fc.uint8Array({ minLength: length, maxLength: length }));
  fc.assert(
    fc.property(bytes, (given) => {
      const text = toBase64(given);
      expect(text).toBe(Buffer.from(given).toString("base64"));
      expect(Buffer.from(fromBase64(text)).equals(Buffer.from(given))).toBe(true);
    }),
  );
  expect(() => fromBase64("no base64!")).toThrow();
});

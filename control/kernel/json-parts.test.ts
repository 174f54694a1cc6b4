/** Parts of JSON are counted in its bytes, before it is parsed. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { propertyRuns } from "../../test/harness/property-runs.ts";
import { ANSWER_PARTS, hasMoreParts, parseBounded } from "./json-parts.ts";

/** The same counts, of the value. */
function counted(value: unknown): { readonly parts: number; readonly names: number } {
  if (typeof value !== "object" || value === null) return { parts: 0, names: 0 };
  const inner = Object.values(value).map(counted);
  return {
    parts: inner.reduce((sum, { parts }) => sum + parts, 1 + Math.max(0, inner.length - 1)),
    names: Math.max(Array.isArray(value) ? 0 : inner.length, ...inner.map(({ names }) => names)),
  };
}

it("are as many as its value has, whatever its strings contain", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.nat(12), fc.nat(4), (value, more, names) => {
      const max = { parts: names + more, names };
      const json = Buffer.from(JSON.stringify(value));
      const real = counted(value);
      expect(hasMoreParts(json, max)).toBe(real.parts > max.parts || real.names > max.names);
    }),
    { numRuns: propertyRuns(800) },
  );
});

it("text of more parts than an answer has is not parsed", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  expect(parseBounded(nested(1000), ANSWER_PARTS)).toHaveLength(1);
  expect(() => parseBounded(nested(ANSWER_PARTS.parts + 1), ANSWER_PARTS)).toThrow("too many parts");
});

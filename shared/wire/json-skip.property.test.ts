import fc from "fast-check";
import { expect, it } from "vitest";
import { QUOTE } from "./ascii.ts";
import { IN_ESCAPE, stringEnd } from "./json-skip.ts";

const encoder = new TextEncoder();

/** Texts with quotes and backslashes in every order, also far from their start. */
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(fc.constantFrom('"', "\\", "\n", "ü", "\ud83d", "x".repeat(130)), { maxLength: 6 })
    .map((parts) => parts.join("")),
);

/** Where a string ends that is read in pieces of its document, each with quotes around it; null: it continues. */
function endInPieces(document: Uint8Array, cuts: readonly number[]): number | null {
  const ends = [...cuts.map((cut) => 1 + (cut % document.byteLength)), document.byteLength].toSorted((a, b) => a - b);
  let from = 1;
  let inEscape = false;
  for (const to of ends) {
    if (to === from) continue;
    const piece = new Uint8Array(to - from + 4).fill(QUOTE);
    piece.set(document.subarray(from, to), 2);
    const end = stringEnd(piece, inEscape ? 3 : 2, 2 + to - from);
    if (end >= 0) return from + end - 2;
    inEscape = end === IN_ESCAPE;
    from = to;
  }
  return null;
}

it("a string ends where JSON.parse ends it, in whatever pieces it comes", () => {
  fc.assert(
    fc.property(text, fc.string(), fc.array(fc.nat(), { maxLength: 5 }), (value, after, cuts) => {
      const written = encoder.encode(JSON.stringify(value));
      const document = encoder.encode(JSON.stringify(value) + after);
      const everyCut = Array.from(written, (_, at) => endInPieces(document, [at]));
      expect(new Set([...everyCut, endInPieces(document, cuts)])).toEqual(new Set([written.byteLength]));
      expect(endInPieces(written.subarray(0, -1), cuts)).toBeNull();
    }),
  );
});

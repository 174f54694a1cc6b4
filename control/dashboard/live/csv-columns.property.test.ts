/** A file with fewer columns is what the writer of CSV writes of records with fewer fields (docs/rules/console.md#live). */
import fc from "fast-check";
import { expect, it } from "vitest";
import { csvLine } from "../../../shared/text/csv.ts";
import { csvColumns } from "./csv-columns.ts";

/** The file that comes out when it goes in in these parts. */
async function filtered(parts: readonly Uint8Array[], names: readonly string[]): Promise<string> {
  const source = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  return await new Response(
    source.pipeThrough(csvColumns((name) => names.includes(name)) as ReadableWritablePair<Uint8Array>),
  ).text();
}

const cell = fc.oneof(
  fc.string({ unit: fc.constantFrom('"', ",", "\r", "\n", "=", "a", "é", "𝄞", "'", " ") }),
  fc.integer(),
  fc.constant(null),
);
const table = fc
  .uniqueArray(fc.string({ unit: fc.constantFrom('"', ",", "\n", "b", "ü", "_"), minLength: 1 }), {
    minLength: 1,
    maxLength: 6,
  })
  .chain((names) =>
    fc.record({
      names: fc.constant(names),
      rows: fc.array(fc.tuple(...names.map(() => cell)), { maxLength: 5 }),
      kept: fc.subarray(names),
      cuts: fc.array(fc.nat(400)),
    }),
  );

it("holds under any cells, cut anywhere", async () => {
  await fc.assert(
    fc.asyncProperty(table, async ({ names, rows, kept, cuts }) => {
      const bytes = new TextEncoder().encode([names, ...rows].map((line) => csvLine(line)).join(""));
      const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
      const parts = at.slice(1).map((end, nth) => bytes.subarray(at[nth], end));
      const places = names.flatMap((name, place) => (kept.includes(name) ? [place] : []));
      const wanted = [names, ...rows].map((line) => csvLine(places.map((place) => line[place]))).join("");
      expect(await filtered(parts, kept)).toBe(wanted);
    }),
    { numRuns: 200 },
  );
});

it("refuses a first line that does not end, and passes a file on that has none", async () => {
  await expect(filtered([new Uint8Array(70_000).fill(0x61)], ["a"])).rejects.toThrow("has no end");
  expect(await filtered([], ["a"])).toBe("");
});

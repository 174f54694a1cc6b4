import { expect, it } from "vitest";
import { readExposition } from "./exposition.ts";

const GOOD = [
  "# HELP a_total Things.",
  "# TYPE a_total counter",
  'a_total{cell="x"} 1',
  'a_total{cell="y"} 2',
  "# HELP b_seconds Times.",
  "# TYPE b_seconds histogram",
  'b_seconds_bucket{le="5",cell="x"} 1',
  'b_seconds_bucket{le="+Inf",cell="x"} 3',
  'b_seconds_sum{cell="x"} 40',
  'b_seconds_count{cell="x"} 3',
  "",
];

it("finds nothing wrong with a good text, and its values", async () => {
  const read = await readExposition(GOOD.join("\n"));
  expect(read.faults).toEqual([]);
  expect(read.value("a_total", { cell: "y" })).toBe(2);
  expect(read.histogram("b_seconds", { cell: "x" })).toMatchObject({ buckets: { 5: 1, "+Inf": 3 }, sum: 40, count: 3 });
});

it.each([
  ["a series twice", (lines: string[]) => lines.splice(3, 0, 'a_total{cell="x"} 5')],
  ["a family in two pieces", (lines: string[]) => lines.splice(10, 0, 'a_total{cell="z"} 5')],
  ["a type stated twice", (lines: string[]) => lines.splice(2, 0, "# TYPE a_total counter")],
  ["a sample before its type", (lines: string[]) => lines.splice(1, 1)],
  ["no help", (lines: string[]) => lines.splice(0, 1)],
  ["a last line that does not end", (lines: string[]) => lines.pop()],
  ["buckets that fall", (lines: string[]) => lines.splice(6, 1, 'b_seconds_bucket{le="5",cell="x"} 4')],
  ["a histogram without a sum", (lines: string[]) => lines.splice(8, 1)],
])("finds %s", async (_fault, spoil) => {
  const lines = [...GOOD];
  spoil(lines);
  expect((await readExposition(lines.join("\n"))).faults).not.toEqual([]);
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { JsonLists } from "./json-lists.ts";

function read(text: string, cuts: readonly number[] = []): { found: readonly unknown[]; lists: readonly string[] } {
  const found: unknown[] = [];
  const onEntry = (name: string, entry: unknown): void => void found.push([name, entry]);
  const reader = new JsonLists({ names: ["jobs", "errors"], entryMaxBytes: 10_000, onEntry });
  const bytes = Buffer.from(text);
  const ends = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  for (const [index, end] of ends.entries()) reader.push(bytes.subarray(ends[index - 1] ?? 0, end));
  return { found, lists: [...reader.end()] };
}

it("finds the entries that JSON.parse finds, wherever the text is cut", () => {
  fc.assert(
    fc.property(
      fc.record({
        a: fc.jsonValue(),
        jobs: fc.array(fc.jsonValue()),
        "x]": fc.jsonValue(),
        errors: fc.array(fc.jsonValue()),
      }),
      fc.array(fc.nat(), { maxLength: 20 }),
      fc.constantFrom(undefined, 2),
      (value, cuts, indent) => {
        const wanted = Object.entries(JSON.parse(JSON.stringify(value)) as typeof value).flatMap(([name, list]) =>
          (name === "jobs" || name === "errors") && Array.isArray(list) ? list.map((entry) => [name, entry]) : [],
        );
        expect(read(JSON.stringify(value, null, indent), cuts).found).toEqual(wanted);
      },
    ),
  );
});

it("reads the same when an empty chunk comes, wherever", () => {
  const text = '{"other": "\\"", "jobs": ["]\\"}", "\\\\"]}';
  for (let at = 0; at <= text.length; at += 1) expect({ at, ...read(text, [at, at]) }).toEqual({ at, ...read(text) });
});

it("takes only lists at the top, and a text with brackets for a text", () => {
  const text = '{"meta": {"jobs": [1]}, "list": [{"jobs": [2]}], "jobs": ["]", "\\"}"], "errors": {}}';
  expect(read(text)).toEqual({
    found: [
      ["jobs", "]"],
      ["jobs", '"}'],
    ],
    lists: ["jobs"],
  });
});

it.each(["", "{", '{"jobs": [1', '{"jobs": []}}', '{"jobs": []} {', '{"jobs": [1], "jobs": [2]}', '{"jobs": [a]}'])(
  "refuses %s",
  (text) => {
    expect(() => read(text)).toThrow();
  },
);

it("refuses an entry that is larger than allowed before it has all of it", () => {
  expect(() => read(`{"jobs": ["${"x".repeat(20_000)}`, [5000, 12_000])).toThrow("an entry is too large");
});

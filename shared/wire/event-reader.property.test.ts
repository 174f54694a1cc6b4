import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dataEvent, EventReader } from "./event-reader.ts";

const encoder = new TextEncoder();

/** The result of reading a text whose bytes come in pieces of these sizes, repeated. */
function read(text: string, sizes: readonly number[] = [1_000_000], maxCharacters = 1_000_000): readonly string[] {
  const reader = new EventReader(maxCharacters);
  const bytes = encoder.encode(text);
  const events: string[] = [];
  for (let at = 0, nth = 0; at < bytes.byteLength; nth += 1) {
    const size = sizes[nth % sizes.length] ?? 1;
    events.push(...reader.push(bytes.subarray(at, at + size)));
    at += size;
  }
  events.push(...reader.finish());
  return events;
}

const CASES: readonly (readonly [string, readonly string[]])[] = [
  ["", []],
  ["data: a\n\n", ["a"]],
  ["data:a\r\n\r\ndata:  b\r\rdata: c\n\n", ["a", " b", "c"]],
  ["\uFEFFdata: a\n\n", ["a"]],
  [": comment\nevent: message\nid: 7\nretry: 5\ndata: a\ndata: b\ndata\n\n", ["a\nb\n"]],
  ["event: message\n\ndata: a\n\n", ["a"]],
  ["data: [DONE]", ["[DONE]"]],
  ["data: é😀\r\n\r\n\r\n", ["é😀"]],
  ["datax: a\n\n data: b\n\n", []],
];

describe("events", () => {
  it.each(CASES)("of %j are %j", (text, events) => {
    expect(read(text)).toEqual(events);
  });

  it("are the same wherever their bytes are split", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...CASES),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        (given, sizes) => {
          expect(read(given[0], sizes)).toEqual(given[1]);
        },
      ),
    );
  });

  it("are read as they were written", () => {
    const data = fc.string({ unit: "binary" }).map((text) => text.replaceAll("\r", ""));
    fc.assert(
      fc.property(fc.array(data), fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (all, sizes) => {
        expect(read(all.map(dataEvent).join(""), sizes)).toEqual(all.map((text) => text.toWellFormed()));
      }),
    );
  });

  it.each(["data: 12345678901\n\n", `data: ${"x".repeat(1000)}`, "data\n".repeat(20)])(
    "end when one is larger than it may be: %j",
    (text) => {
      const reader = new EventReader(10);
      const bytes = encoder.encode(text);
      const events = [...bytes].flatMap((byte) => reader.push(Uint8Array.of(byte)));
      expect({
        events,
        overflowed: reader.overflowed,
        laterEvents: reader.push(encoder.encode("\n\ndata: a\n\n")),
      }).toEqual({
        events: [],
        overflowed: true,
        laterEvents: [],
      });
    },
  );

  it("may be many", () => {
    const reader = new EventReader(10);
    for (let nth = 0; nth < 100; nth += 1)
      expect(reader.push(encoder.encode("data: 1234567\n\n"))).toEqual(["1234567"]);
    expect(reader.overflowed).toBe(false);
  });
});

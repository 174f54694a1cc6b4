/** Where a document of JSON ends. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { DocumentEnd } from "./document-end.ts";

const encoder = new TextEncoder();

it("is reached with the last byte of an object or list, in pieces of any length", () => {
  const document = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue()));
  fc.assert(
    fc.property(document, fc.integer({ min: 1, max: 9 }), (value, size) => {
      const bytes = encoder.encode(JSON.stringify(value));
      const end = new DocumentEnd();
      for (let at = 0; at < bytes.byteLength; at += size) {
        expect(end.reached).toBe(false);
        end.push(bytes.subarray(at, at + size));
      }
      expect(end.reached).toBe(true);
    }),
  );
});

it("is not reached by brackets in texts, or by a part", () => {
  for (const text of ['{"a":"}"', '["\\"]"', "", '"a"', "[[]", '{"a":{}'])
    expect({ text, reached: reached(text) }).toEqual({ text, reached: false });
});

it("is not reached where something else than blanks follows, or the next one begins", () => {
  const texts = ['{"a":1}', '{"a":1} \r\n\t', '{"a":1}{"b":', '{"a":1}\n{"b":1}', '{"a":1}x', '{"a":1}}', '[]"'];
  expect(texts.filter(reached)).toEqual(['{"a":1}', '{"a":1} \r\n\t']);
});

function reached(text: string): boolean {
  const end = new DocumentEnd();
  end.push(encoder.encode(text));
  return end.reached;
}

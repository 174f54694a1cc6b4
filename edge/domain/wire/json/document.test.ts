import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJson as read } from "../../../../test/harness/edge/read-json.ts";
import { countCodePoints } from "./document.ts";

const SECRET = "b1b6a1a8";
const readJson = (bytes: Uint8Array, parseWholeMaxBytes?: number) => read(bytes, SECRET, parseWholeMaxBytes);
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("reading a document", () => {
  it.each(["", "[]", "null", '"a"', "1", "{", '{"a":1,}', '{"a":1} {'])("returns null for %j", (text) => {
    expect(readJson(bytesOf(text))).toBeNull();
    expect(readJson(bytesOf(text), 0)).toBeNull();
  });

  it("returns null for bytes that are not UTF-8", () => {
    expect(readJson(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d))).toBeNull();
  });

  it("is the same above the limit as below it, while strings are short", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const bytes = bytesOf(JSON.stringify(value));
        expect(readJson(bytes, 0)?.root).toEqual(readJson(bytes)?.root);
      }),
    );
  });

  it("cuts long strings but knows their length in code points", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a", "ü", "€", "😀", '"', "\\", "\n", "\u0001"), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 30_000 }),
        fc.boolean(),
        (pieces, times, escaped) => {
          const long = pieces.join("").repeat(times);
          const encoded = JSON.stringify({ before: "x", long, after: ["y", long] });
          const text = escaped
            ? encoded.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
            : encoded;
          const document = readJson(bytesOf(text), 0);
          const kept = document?.root["long"];
          expect(typeof kept).toBe("string");
          expect(document?.codePoints(String(kept))).toBe(Array.from(long).length);
          expect(document?.root["before"]).toBe("x");
        },
      ),
      { numRuns: 60 },
    );
  });

  it.each([
    ["a pair", "\\ud83d\\ude00", 1],
    ["a pair in capitals", "\\uD83D\\uDE00", 1],
    ["a high half before a letter", "\\ud83d\\u0041", 2],
    ["a high half before a pair", "\\ud83d\\ud83d\\ude00", 2],
    ["a low half before a high one", "\\ude00\\ud83d", 2],
  ])("counts %s of escapes in a cut string as in a whole one", (_, escapes, points) => {
    const bytes = bytesOf(`{"long":"${"x".repeat(80_000)}${escapes}"}`);
    for (const document of [readJson(bytes), readJson(bytes, 0)]) {
      expect(document?.codePoints(String(document.root["long"]))).toBe(80_000 + points);
    }
  });

  it("knows the length of strings about as long as what is kept of one", () => {
    for (let length = 65_530; length < 65_540; length += 1) {
      const document = readJson(bytesOf(`{"long":"${"x".repeat(length)}"}`), 0);
      const long = String(document?.root["long"]);
      expect({ length, codePoints: document?.codePoints(long) }).toEqual({ length, codePoints: length });
      expect({ length, text: document?.text(long) }).toEqual({ length, text: "x".repeat(Math.min(length, 65_536)) });
    }
  });

  it("returns a cut text without its mark, and reads no string that JSON does not allow", () => {
    const long = "y".repeat(100_000);
    const document = readJson(bytesOf(JSON.stringify({ long, short: "s" })), 0);
    expect(document?.text(String(document.root["long"]))).toBe("y".repeat(65_536));
    expect(document?.text(String(document.root["short"]))).toBe("s");
    for (const bad of ["\\x", "\\u12g4", "\u0001"])
      expect({ bad, json: readJson(bytesOf(`{"long":"${long}${bad}"}`), 0) }).toEqual({ bad, json: null });
    const bytes = bytesOf(`{"long":"${long}z"}`);
    bytes[bytes.indexOf(0x7a)] = 0xff;
    expect(readJson(bytes, 0)).toBeNull();
  });

  it("counts surrogate pairs once", () => {
    expect(countCodePoints("a😀b\ud800")).toBe(4);
  });

  it("mistakes no client string for a cut one, whatever it starts with", () => {
    const cut = "\\u0041".repeat(20_000);
    for (const forged of ["\ue000cut:0;", "0;", ":0;", `${"b".repeat(8)}:0;`]) {
      const input = `${forged}${"x".repeat(50_000)}`;
      const document = readJson(bytesOf(`{"long":"${cut}","input":"${input}"}`), 0);
      expect(document?.codePoints(String(document.root["long"]))).toBe(20_000);
      expect(document?.codePoints(String(document.root["input"]))).toBe(input.length);
      expect(document?.text(String(document.root["input"]))).toBe(input);
    }
  });
});

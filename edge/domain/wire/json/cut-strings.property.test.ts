/**
 * Documents whose long strings are cut, against JSON.parse: the kept part and the length of each string, the client's bytes for
 * the rest, and that no long string passes that JSON does not allow. Little is kept here, so that small documents are read in
 * many pieces.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { atOnce } from "../../../../shared/steps.ts";
import { QUOTE } from "../../../../shared/wire/ascii.ts";
import { stringEnd } from "../../../../shared/wire/json-skip.ts";
import { propertyRuns } from "../../../../test/harness/property-runs.ts";
import { cutLongStrings as cutLongStringsInSteps } from "./cut-strings.ts";

const cutLongStrings = (...given: Parameters<typeof cutLongStringsInSteps>) => atOnce(cutLongStringsInSteps(...given));

const encoder = new TextEncoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The characters between the quotes of a string: of every length, escapes, halves of pairs. */
const PARTS = [
  "a",
  "plain text of some length ",
  "ü",
  "€",
  "😀",
  "\ufeff",
  String.raw`\"`,
  String.raw`\\`,
  String.raw`\n`,
  String.raw`\u0041`,
  String.raw`\ud83d`,
  String.raw`\ude00`,
  String.raw`\uD83D\uDE00`,
  String.raw`\\ud83d`,
];
const inner = fc.array(fc.constantFrom(...PARTS), { maxLength: 40 }).map((parts) => parts.join(""));
const document = fc.array(inner, { maxLength: 6 }).map((texts) => `[${texts.map((text) => `"${text}"`).join(",")}]`);
const keptBytes = fc.integer({ min: 16, max: 80 });

/** What JSON makes of the bytes of one string; null: nothing. */
function parsed(bytes: Uint8Array): string | null {
  try {
    const value: unknown = JSON.parse(strict.decode(bytes));
    return typeof value === "string" ? value : null;
  } catch {
    return null;
  }
}

/** Where a string closes, byte by byte. */
function plainEnd(bytes: Uint8Array, start: number): number | null {
  for (let at = start + 1; at < bytes.byteLength; at += 1) {
    if (bytes[at] === QUOTE) return at + 1;
    if (bytes[at] === 0x5c) at += 1;
  }
  return null;
}

/** Where the strings open. */
function starts(bytes: Uint8Array): number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf(QUOTE); at !== -1; ) {
    found.push(at);
    const end = plainEnd(bytes, at);
    at = end === null ? -1 : bytes.indexOf(QUOTE, end);
  }
  return found;
}

/** The bytes in pieces that end at these places. */
function inPieces(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...places.map((place) => place % (bytes.byteLength + 1)), bytes.byteLength].toSorted((a, b) => a - b);
  return ends.map((end, nth) => bytes.subarray(ends[nth - 1] ?? 0, end));
}

const MARK = "mark:";

/** Compares the result for `bytes` with JSON.parse; `isUtf8` is about all of them. */
function check(bytes: Uint8Array, kept: number, places: readonly number[], isUtf8: boolean): void {
  const opens = starts(bytes);
  const strings = opens.map((start) => {
    const end = plainEnd(bytes, start) ?? bytes.byteLength + 1;
    const found = stringEnd(bytes, start + 1);
    expect(found < 0 ? null : found).toBe(plainEnd(bytes, start));
    return { start, end, isLong: end - start - 2 > kept, text: parsed(bytes.subarray(start, end)) };
  });
  const long = strings.filter(({ isLong }) => isLong);
  const closes = strings.every(({ end }) => end <= bytes.byteLength);
  const cut = cutLongStrings(inPieces(bytes, places), MARK, kept);
  // invalid UTF-8 after a long string may be seen with it
  const allowed = closes && long.every(({ text }) => text !== null);
  if (cut === null) {
    expect({ allowed, isUtf8 }).not.toEqual({ allowed: true, isUtf8: true });
    return;
  }
  expect(allowed).toBe(true);
  expect(cut.lengths).toEqual(long.map(({ text }) => Array.from(text ?? "").length));
  // each string is at its place, whole or as its mark and its start
  let moved = 0;
  for (const { start, end, isLong, text } of strings) {
    const at = start - moved;
    const cutEnd = plainEnd(cut.bytes, at) ?? 0;
    moved = end - cutEnd;
    const standing = cut.bytes.subarray(at, cutEnd);
    if (!isLong) {
      expect(standing).toEqual(bytes.subarray(start, end));
      continue;
    }
    const [, beginning = "none"] = /^mark:\d+;([\s\S]*)$/.exec(parsed(standing) ?? "") ?? [];
    expect(text?.startsWith(beginning)).toBe(true);
    // no pair is cut in two: together its halves are one character
    const rest = text?.slice(beginning.length) ?? "";
    expect(Array.from(beginning).length + Array.from(rest).length).toBe(Array.from(text ?? "").length);
    const keptBytes = standing.byteLength - 2 - strict.decode(standing).indexOf(";");
    expect({ fitsLimit: keptBytes <= kept, isNearLimit: keptBytes > kept - 12 }).toEqual({
      fitsLimit: true,
      isNearLimit: true,
    });
  }
  // and every place between strings leads back to where it was sent
  const borders = strings.flatMap(({ start, end }) => [start, end]);
  let before = 0;
  const cutBorders = strings.flatMap(({ start, end }) => {
    const at = start - before;
    const cutEnd = plainEnd(cut.bytes, at) ?? 0;
    before = end - cutEnd;
    return [at, cutEnd];
  });
  expect(cutBorders.map((at) => cut.placeOf(at))).toEqual(borders);
  expect({ start: cut.placeOf(0), end: cut.placeOf(cut.bytes.byteLength) }).toEqual({
    start: 0,
    end: bytes.byteLength,
  });
}

describe("a document whose long strings are cut", () => {
  const places = fc.array(fc.nat(), { maxLength: 5 });

  it("holds what JSON.parse finds, in whatever pieces it came", () => {
    fc.assert(
      fc.property(document, keptBytes, places, (text, kept, cuts) => check(encoder.encode(text), kept, cuts, true)),
      { numRuns: propertyRuns(3000) },
    );
  });

  it("is refused for what JSON.parse refuses, when bytes are changed or missing at the end", () => {
    const wrong = fc.oneof(
      fc.constantFrom(0x00, 0x1f, 0x22, 0x5c, 0x75, 0x80, 0xbf, 0xc0, 0xe2, 0xf5, 0xff),
      fc.nat(255),
    );
    fc.assert(
      fc.property(
        document,
        keptBytes,
        places,
        fc.nat(),
        wrong,
        fc.boolean(),
        (text, kept, cuts, place, byte, short) => {
          const bytes = encoder.encode(text);
          const at = place % bytes.byteLength;
          bytes[at] = byte;
          const left = short ? bytes.slice(0, at + 1) : bytes;
          check(left, kept, cuts, isUtf8(left));
        },
      ),
      { numRuns: propertyRuns(6000) },
    );
  });
});

function isUtf8(bytes: Uint8Array): boolean {
  try {
    strict.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

describe("the work of reading a document", () => {
  /** Bytes that are decoded, and searched for quotes. */
  function workOf(bytes: Uint8Array): number {
    const decoded = vi.spyOn(TextDecoder.prototype, "decode");
    const searched = vi.spyOn(Uint8Array.prototype, "indexOf");
    cutLongStrings(inPieces(bytes, [1000, 20_000, 100_000]), MARK, 4096);
    const results = searched.mock.results.map(({ value }) => Number(value));
    const steps = searched.mock.calls.map(([, from = 0], nth) => {
      const { byteLength } = searched.mock.contexts[nth] as Uint8Array;
      const found = results[nth] ?? -1;
      return (found === -1 ? byteLength : found) - from;
    });
    const bytesDecoded = decoded.mock.calls.map(([input]) => (input as Uint8Array).byteLength);
    vi.restoreAllMocks();
    return [...steps, ...bytesDecoded].reduce((sum, count) => sum + count, 0);
  }

  it.each([
    ["one long text", (size: number) => `["${"x".repeat(size)}"]`],
    ["a text of escapes", (size: number) => `["${"\\n".repeat(size / 2)}"]`],
    ["a text of escaped quotes", (size: number) => `["${'\\"'.repeat(size / 2)}"]`],
    ["a text of backslashes", (size: number) => `["${"\\\\".repeat(size / 2)}"]`],
    ["a text of halves", (size: number) => `["${"\\ud83d".repeat(size / 6)}"]`],
    ["a text of wide characters", (size: number) => `["${"😀".repeat(size / 4)}"]`],
    ["empty texts", (size: number) => `[${'"",'.repeat(size / 3)}""]`],
    ["texts that are just long", (size: number) => `[${`"${"x".repeat(4096)}",`.repeat(size / 4096)}""]`],
    ["long texts that end in an escape", (size: number) => `[${`"${"x".repeat(4095)}\\n",`.repeat(size / 4096)}""]`],
    ["a text that never closes", (size: number) => `["${'\\"'.repeat(size / 2)}`],
  ])("of %s grows as it does", (_, text) => {
    const [small, large] = [1 << 18, 1 << 20].map((size) => workOf(encoder.encode(text(size))) / size);
    expect(small).toBeLessThan(6);
    expect(large).toBeLessThan(1.1 * (small ?? 0) + 0.1);
  });
});

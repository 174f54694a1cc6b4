/**
 * The strings of a document, long and short, against JSON.parse: where each ends, what is kept of it and how long it is, and
 * that nothing is taken for one that JSON does not allow. Long begins early here, so that small documents hold many pieces.
 */
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { QUOTE } from "./ascii.ts";
import { LongStrings, stringEnd } from "./json-strings.ts";

const encoder = new TextEncoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What stands between the quotes of a string: characters of every length, escapes, halves of pairs. */
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
const longBytes = fc.integer({ min: 16, max: 80 });

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

function isUtf8(bytes: Uint8Array): boolean {
  try {
    strict.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Holds what is said of the strings of `bytes` against JSON.parse. */
function check(bytes: Uint8Array, long: number): void {
  const strings = new LongStrings(bytes, long);
  const utf8 = isUtf8(bytes);
  let allowed = true;
  const texts = new Map<number, string>();
  for (const start of starts(bytes)) {
    const end = plainEnd(bytes, start);
    expect(stringEnd(bytes, start)).toBe(end);
    const text = end === null ? null : parsed(bytes.subarray(start, end));
    const isLong = end === null || end - start - 2 >= long;
    const found = strings.endOf(start);
    allowed = isLong && (text === null || !utf8) ? found !== null : true;
    if (isLong && text === null) expect(found).toBeNull();
    if (!allowed) break;
    expect([found, strings.endOf(start)]).toEqual([end, end]);
    if (isLong && text !== null) texts.set(start, text);
  }
  const all = new LongStrings(bytes, long).all();
  expect(strings.all()).toEqual(all);
  expect(all === null).toBe(!allowed);
  expect(allowed ? all?.map(({ start, length }) => [start, length]) : []).toEqual(
    allowed ? Array.from(texts, ([start, text]) => [start, Array.from(text).length]) : [],
  );
  for (const { start, keptEnd, end, length } of all ?? []) {
    const kept = parsed(encoder.encode(`${strict.decode(bytes.subarray(start, keptEnd))}"`)) ?? "none";
    const rest = parsed(encoder.encode(`"${strict.decode(bytes.subarray(keptEnd, end))}`)) ?? "none";
    expect(kept + rest).toBe(texts.get(start));
    // no pair is cut in two: together its halves are one character
    expect(Array.from(kept).length + Array.from(rest).length).toBe(length);
    expect([keptEnd - start - 1 <= long, keptEnd - start - 1 > long - 12]).toEqual([true, true]);
  }
}

describe("the strings of a document", () => {
  it("are those that JSON.parse finds, wherever they are cut into pieces", () => {
    fc.assert(
      fc.property(document, longBytes, (text, long) => check(encoder.encode(text), long)),
      { numRuns: 3000 },
    );
  });

  it("are refused as by JSON.parse when bytes of them are changed, or missing at the end", () => {
    const wrong = fc.oneof(
      fc.constantFrom(0x00, 0x1f, 0x22, 0x5c, 0x75, 0x80, 0xbf, 0xc0, 0xe2, 0xf5, 0xff),
      fc.nat(255),
    );
    fc.assert(
      fc.property(document, longBytes, fc.nat(), wrong, fc.boolean(), (text, long, place, byte, cut) => {
        const bytes = encoder.encode(text);
        const at = place % bytes.byteLength;
        bytes[at] = byte;
        check(cut ? bytes.slice(0, at + 1) : bytes, long);
      }),
      { numRuns: 6000 },
    );
  });
});

describe("the work of reading a document", () => {
  afterEach(() => void vi.restoreAllMocks());

  /** Bytes that are decoded, and searched for quotes, once the strings have been asked for three times. */
  function workOf(bytes: Uint8Array): number {
    const decoded = vi.spyOn(TextDecoder.prototype, "decode");
    const searched = vi.spyOn(Uint8Array.prototype, "indexOf");
    const strings = new LongStrings(bytes, 4096);
    for (let round = 0; round < 3; round += 1) strings.all();
    for (const { start } of strings.all() ?? []) strings.endOf(start);
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
    expect(small).toBeLessThan(10);
    expect(large).toBeLessThan(1.1 * (small ?? 0) + 0.1);
  });
});

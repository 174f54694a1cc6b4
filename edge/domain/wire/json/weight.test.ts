import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../../shared/steps.ts";
import { mainRows } from "../../../../test/harness/main-rows.ts";
import { weightOfJson } from "./weight.ts";

const isHeavyJson = (bytes: Uint8Array, maxBytes: number) => atOnce(weightOfJson(bytes, maxBytes)) > maxBytes;

const MAX_BYTES = 64 * 1024 * 1024;
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const listOf = (item: string, times: number): Uint8Array => bytesOf(`{"x":[${`${item},`.repeat(times)}0]}`);

describe("a document", () => {
  it.each([
    ["empty lists", "[]", 1_000_000],
    ["empty objects", "{}", 1_000_000],
    ["one-letter members", '{"a":1}', 500_000],
    ["short texts", '"a"', 1_500_000],
    ["numbers", "1", 8_500_000],
  ])("of %s is heavy, though it is short", (_, item, times) => {
    expect(isHeavyJson(listOf(item, times), MAX_BYTES)).toBe(true);
  });

  it("of many names, or of many brackets, is heavy", () => {
    const names = Array.from({ length: 800_000 }, (_, at) => `"${at.toString(36)}":1`);
    expect(isHeavyJson(bytesOf(`{${names.join(",")}}`), MAX_BYTES)).toBe(true);
    expect(isHeavyJson(bytesOf(`{"x":${"[".repeat(2_000_000)}`), MAX_BYTES)).toBe(true);
  });

  mainRows(2)([
    ["a long text of what would be heavy outside of it", "[{,:".repeat(8_000_000), 1],
    ["fifty thousand messages", JSON.stringify({ role: "user", content: "what is it?" }), 50_000],
    ["six million token ids", "1234", 6_000_000],
  ])("of %s is not", (name, item, times) => {
    expect(isHeavyJson(listOf(name.startsWith("a long") ? JSON.stringify(item) : item, times), MAX_BYTES)).toBe(false);
  });

  it("weighs as much as it holds, wherever its strings end", () => {
    const count = (value: unknown): number => {
      if (typeof value === "string") return 40;
      if (Array.isArray(value))
        return value.reduce((sum: number, item) => sum + count(item), 64 + 8 * Math.max(0, value.length - 1));
      if (typeof value !== "object" || value === null) return 0;
      const entries = Object.values(value);
      return entries.reduce((sum: number, item) => sum + 88 + count(item), 64 + 8 * Math.max(0, entries.length - 1));
    };
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
        const bytes = bytesOf(JSON.stringify(value, null, indent));
        const weight = count(JSON.parse(JSON.stringify(value)));
        expect({
          isHeavyBelowWeight: isHeavyJson(bytes, weight - 1),
          isHeavyAtWeight: isHeavyJson(bytes, weight),
        }).toEqual({ isHeavyBelowWeight: true, isHeavyAtWeight: false });
      }),
    );
  });
});

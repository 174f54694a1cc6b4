import { describe, expect, test } from "vitest";
import { freeText, requiredText, timestamp, timezone, whole } from "./common.ts";

describe("text", () => {
  test("is trimmed before it is measured", () => {
    expect(requiredText(3).parse("  abc ")).toBe("abc");
    expect(requiredText(3).safeParse("   ").success).toBe(false);
    expect(freeText(3).safeParse("abcd").success).toBe(false);
  });

  test.each(["a\0b", "\ud800", "x\udc00"])("that no database can hold is refused: %j", (text) => {
    expect(requiredText(10).safeParse(text).success).toBe(false);
    expect(freeText(10).safeParse(text).success).toBe(false);
  });

  test("keeps whole surrogate pairs", () => {
    expect(freeText(10).parse("a😀")).toBe("a😀");
  });
});

test("a whole number is a safe integer within its bounds", () => {
  expect(whole(1, 5).parse(5)).toBe(5);
  for (const value of [0, 6, 1.5, 2 ** 53, "3", null]) expect(whole(1, 5).safeParse(value).success).toBe(false);
});

test("a timestamp comes out in UTC with milliseconds", () => {
  expect(timestamp.parse("2026-01-02T03:04:05+02:00")).toBe("2026-01-02T01:04:05.000Z");
  expect(timestamp.safeParse("2026-01-02").success).toBe(false);
});

test("a time zone is an IANA name", () => {
  expect(timezone.parse("Europe/Berlin")).toBe("Europe/Berlin");
  expect(timezone.safeParse("Mars/Base").success).toBe(false);
});

/** Personal data against the regular expressions of the rules, whole and in pieces. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileScan } from "./text-scan.ts";

const scan = compileScan({ scanners: ["pii"], banKeywords: [] });
const redact = (text: string) => scan.redactTexts([{ text, user: true }]).texts[0];

const hasLuhnSum = (number: string): boolean => {
  const digits = Array.from(number.replace(/\D/g, ""), Number).toReversed();
  const sum = digits.reduce(
    (total, digit, at) => total + (at % 2 === 0 ? digit : digit > 4 ? 2 * digit - 9 : 2 * digit),
    0,
  );
  return sum % 10 === 0;
};

/** docs/rules/guardrails.md#personal-data, one after another. */
function expectedOf(text: string): string {
  return text
    .replace(/(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/g, (found) => (hasLuhnSum(found) ? "[REDACTED:CREDIT_CARD]" : found))
    .replace(/(?<!\d)(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?!\d)/g, "[REDACTED:SSN]")
    .replace(
      /[A-Za-z0-9._%+-]{1,64}(?<!(?<![A-Za-z0-9._%+-])git)@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}/g,
      "[REDACTED:EMAIL]",
    )
    .replace(
      /(?<![\d+])(?:\+\d{1,3}[ .-]?)?(?:\(\d{3}\)|\d{3})[ .-]\d{3}[ .-]\d{4}(?!\d)|(?<!\d)\+\d{8,15}(?!\d)/g,
      "[REDACTED:PHONE]",
    );
}

const digits = (least: number, most: number) =>
  fc
    .array(fc.constantFrom(...Array.from("0123456789")), { minLength: least, maxLength: most })
    .map((all) => all.join(""));
const piece = fc.oneof(
  digits(1, 4),
  digits(12, 20),
  fc.constantFrom("4111 1111 1111 1111", "4111111111111111", "378282246310005", "5555-5555-5555-4444", "0000000000000"),
  fc.constantFrom("078-05-1120", "666-12-3456", "123-45-6789", "000-12-3456", "900-11-2222", "123-00-4567"),
  fc.constantFrom("a@b.co", "first.last+tag@mail.example.com", "x@y", "@", "a@b.c", "q@r.com1", "a@b..com", "a@-.aa-b"),
  fc.constantFrom("git@r.co:org/repo", "git", "Git@r.co", "@r.co"),
  fc.constantFrom(
    "555-123-4567",
    "(555) 123-4567",
    "+1 555 123 4567",
    "+49(555).123.4567",
    "+491701234567",
    "+12345678",
  ),
  fc.constantFrom("+", "-", " ", ".", "(", ")", "%", "_", "x", "hello", "\n", "é", "😀"),
);
const texts = fc.oneof(
  fc.array(piece, { maxLength: 7 }).map((all) => all.join("")),
  fc.array(fc.tuple(piece, fc.constantFrom("", " ", "-", ".")), { maxLength: 6 }).map((all) => all.flat().join("")),
  fc.array(fc.constantFrom(...Array.from("12@.+-( )ab")), { maxLength: 40 }).map((all) => all.join("")),
);

describe("personal data", () => {
  it("is what the regular expressions match, one after another", () => {
    let matched = 0;
    fc.assert(
      fc.property(texts, (text) => {
        matched += Number(expectedOf(text) !== text);
        expect(redact(text)).toBe(expectedOf(text));
      }),
      { numRuns: 6000 },
    );
    expect(matched).toBeGreaterThan(600);
  });

  it.each([
    ["local part of 64", `${"a".repeat(64)}@b.co`, "[REDACTED:EMAIL]"],
    ["local part of 65", `${"a".repeat(65)}@b.co`, "a[REDACTED:EMAIL]"],
    ["domain of 253", `a@${"b".repeat(250)}.co`, "[REDACTED:EMAIL]"],
    ["domain that is too long", `a@${"b".repeat(252)}.co`, `a@${"b".repeat(252)}.co`],
    ["top level of 30 letters", `a@b.${"c".repeat(30)}`, `[REDACTED:EMAIL]${"c".repeat(6)}`],
  ])("has bounds: %s", (_, text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it.each([
    ["4111\u200b1111\u200b1111\u200b1111", "[REDACTED:CREDIT_CARD]"],
    ["4111\u00ad 1111 1111 11\u2060\u206011", "[REDACTED:CREDIT_CARD]"],
    ["a\u200bb@ex\u{e0041}ample.com!", "[REDACTED:EMAIL]!"],
    ["🧑\u200d🚀 is no number", "🧑\u200d🚀 is no number"],
    [`4111${"\u200b".repeat(32)}111111111111`, "[REDACTED:CREDIT_CARD]"],
    [`4111${"\u200b".repeat(33)}111111111111`, `4111${"\u200b".repeat(33)}111111111111`],
  ])("is found behind characters that are not seen: %s", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });
});

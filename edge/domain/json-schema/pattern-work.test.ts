import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { patternSteps } from "./pattern-work.ts";

const isCountable = (source: string) => Number.isFinite(patternSteps(source, 100));

describe("the work of an expression", () => {
  it.each([
    "^[A-Z]{3}-\\d{4}$",
    "^\\d{4}-\\d{2}-\\d{2}$",
    "^[a-z0-9_-]+$",
    "^(foo|bar|baz)$",
    "^\\+?[1-9]\\d{1,14}$",
    "^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$",
    "^(?:\\d{3}-)*\\d+$",
    "^(?<year>\\d{4})$",
    "^\\p{L}+$",
    "^\\u{1F600}\\u0041[\\]a]$",
    "^#[0-9a-fA-F]{6}$",
    "",
  ])("%j can be counted", (source) => {
    expect(isCountable(source)).toBe(true);
    expect(() => new RegExp(source, "u")).not.toThrow();
  });

  it.each([
    "^(a+)+$",
    "^(a|aa)+$",
    "^(a*)*$",
    "^([a-z]+-)*$",
    "(.*)(.*)\\1",
    "(?=a)b",
    "(?<!a)b",
    "(?<=a)b",
    "(?!a)b",
    "\\k<x>",
    "(?i:a)",
    `${"a?".repeat(30)}${"a".repeat(30)}`,
    "(a{1000}){1000}",
    "((a?){10}){10}",
    "(a|b){40}",
    "(".repeat(60) + ")".repeat(60),
    "(a",
    "a)",
    "[a",
    "a\\",
    "+a",
    "a**",
  ])("%j cannot", (source) => {
    expect(isCountable(source)).toBe(false);
  });

  it("grows with the text as the expression lets it", () => {
    const growth = (source: string) => patternSteps(source, 1999) / patternSteps(source, 999);
    expect(growth("^[a-z]{3}$")).toBe(1);
    expect(growth("^[a-z]+$")).toBe(2);
    expect(growth("[a-z]")).toBe(2);
    expect(growth("[a-z]+$")).toBe(4);
    expect(growth("^a+b|c+$")).toBe(4);
    expect(growth("^.*a.*b$")).toBe(4);
  });

  it("is known for any text, and bounds what a small matcher really does", () => {
    const part = fc.constantFrom("a", "b", ".", "[ab]", "(", ")", "(?:", "|", "*", "+", "?", "{2}", "{0,3}", "^", "$");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const source = parts.join("");
        if (patternSteps(source, 14) > 100_000) return;
        // An expression that counts as harmless is read by the engine, or refused by it, at once.
        try {
          new RegExp(source, "u").test("aaaaaaaaaaaaab");
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

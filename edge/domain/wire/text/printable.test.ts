import fc from "fast-check";
import { expect, it } from "vitest";
import { cutText, printable } from "./printable.ts";

it.each([
  ["a plain name", "a plain name"],
  ["żółć 漢字 🙂", "żółć 漢字 🙂"],
  ["\u001b[31mred\u0007", "\\u{1b}[31mred\\u{7}"],
  ["\u009b2J\u007f", "\\u{9b}2J\\u{7f}"],
  ["a\r\nb\u2028c", "a\\u{d}\\u{a}b\\u{2028}c"],
  ["\u202egnp.exe", "\\u{202e}gnp.exe"],
  ["\ud800", "\\u{d800}"],
])("%j is printed as %s", (text, printed) => {
  expect(printable(text, 200)).toBe(printed);
});

it("holds nothing that a terminal acts upon, and cutting leaves no half of a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(20), (text, max) => {
      expect(printable(text, max)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      const cut = cutText(text, max);
      expect(text.startsWith(cut) && cut.length <= max && cut.isWellFormed()).toBe(true);
    }),
  );
});

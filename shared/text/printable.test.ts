import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { oneLine, printableJson, terminalText, visibleJson } from "./printable.ts";

/** Written independently: what a terminal or a line reader may act upon. */
function isActedOn(codePoint: number): boolean {
  if (codePoint < 0x20 || (codePoint >= 0x7f && codePoint <= 0x9f)) return true;
  return [
    0x061c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069,
  ].includes(codePoint);
}
const actedOn = (text: string): string[] =>
  Array.from(text).filter((character) => isActedOn(character.codePointAt(0) ?? 0));

const nasty = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0x2100 }).map((point) => String.fromCodePoint(point)),
    fc.constantFrom("\u001b[2J", "\u009b31m", "\r\n", "\u2028", "\u202egpj.exe", "é", "😀", "\ud800"),
  ),
});

describe("text from outside", () => {
  it("contains nothing that a terminal acts upon, in any form", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        expect(actedOn(oneLine(text))).toEqual([]);
        expect(actedOn(terminalText(text).replaceAll("\t", ""))).toEqual([]);
        expect(actedOn(printableJson(JSON.stringify({ [text]: text })))).toEqual([]);
      }),
    );
  });

  it("is unchanged where it has no such characters, in any language", () => {
    for (const text of ["plain", "Größe", "日本語", "عربي", '😀 {}\\"', ""])
      expect({ oneLine: oneLine(text), terminalText: terminalText(text), printableJson: printableJson(text) }).toEqual({
        oneLine: text,
        terminalText: text,
        printableJson: text,
      });
  });

  it("means the same in JSON", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        expect(JSON.parse(printableJson(JSON.stringify([text])))).toEqual([text]);
      }),
    );
  });

  it("keeps its words in one line, and shows such characters on a terminal", () => {
    const text = "a\r\n\r\nb\u001b[31mc\td\u2028e\u202ef";
    expect(oneLine(text)).toBe("a b [31mc d e f");
    expect(terminalText(text)).toBe("a\\u000d\\u000a\\u000d\\u000ab\\u001b[31mc\td\\u2028e\\u202ef");
  });

  it("keeps the end of a line of JSON", () => {
    expect(printableJson('{"a":"\u009b"}\n')).toBe('{"a":"\\u009b"}\n');
  });
});

describe("JSON whose characters stand for themselves", () => {
  const strange = fc.constantFrom(
    "\u00a0",
    "\u3000",
    "\u200b",
    "\u2800",
    "\u202e",
    "\ufeff",
    "\u{e0041}",
    "\u0301",
    "é",
    "😀",
  );
  const texts = fc.array(fc.oneof(strange, fc.string({ unit: "grapheme" }))).map((parts) => parts.join(""));

  it("means the same, and has neither what shows nothing nor what covers its lines", () => {
    fc.assert(
      fc.property(fc.jsonValue(), texts, (value, text) => {
        const given = { [text]: [value, text] };
        const visible = visibleJson(JSON.stringify(given));
        expect(JSON.parse(visible)).toEqual(JSON.parse(JSON.stringify(given)));
        expect(visible).not.toMatch(/\p{C}|\p{Zl}|\p{Zp}|\u00a0|\u3000|\u2800|\u200b|\ufeff|\p{M}{5}/u);
      }),
    );
  });
});

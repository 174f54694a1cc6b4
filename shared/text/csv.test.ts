import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvLine } from "./csv.ts";

/** The cells of a text, by the grammar of RFC 4180. */
function parsed(text: string): readonly (readonly string[])[] {
  const lines: string[][] = [];
  let line: string[] = [];
  for (let at = 0; at < text.length; ) {
    let cell = "";
    if (text[at] === '"') {
      for (at += 1; text[at] !== '"' || text[at + 1] === '"'; at += 1) {
        if (text[at] === '"') at += 1;
        cell += text[at];
      }
      at += 1;
    } else for (; at < text.length && text[at] !== "," && !text.startsWith("\r\n", at); at += 1) cell += text[at];
    line.push(cell);
    if (text[at] === ",") {
      at += 1;
      if (!text.startsWith("\r\n", at)) continue;
      line.push("");
    }
    expect(text.startsWith("\r\n", at)).toBe(true);
    at += 2;
    lines.push(line);
    line = [];
  }
  return lines;
}

describe("a line of CSV", () => {
  it.each<[unknown, string]>([
    ["plain", "plain"],
    ['say "hi"', '"say ""hi"""'],
    ["a,b", '"a,b"'],
    ["a\nb", '"a\nb"'],
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["\tx", `"'\tx"`],
    ["a;=1+1", '"a;=1+1"'],
    ["a\t=1+1", '"a\t=1+1"'],
    ["＝1+1", "'＝1+1"],
    ["＋1", "'＋1"],
    ["－1", "'－1"],
    ["＠SUM(A1)", "'＠SUM(A1)"],
    ["\rx", `"'\rx"`],
    ['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
    [" =1", " =1"],
    ["'=1", "'=1"],
    ["", ""],
    [null, ""],
    [undefined, ""],
    [0.000001235, "0.000001235"],
    [1e-9, "1e-9"],
    [true, "true"],
    [{ a: [1, "="] }, '"{""a"":[1,""=""]}"'],
  ])("writes the cell %j as %j", (value, cell) => {
    expect(csvLine([value])).toBe(`${cell}\r\n`);
  });

  it("is read again as it was, and no cell is a formula, whatever the texts are", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({
        unit: fc.constantFrom(
          "=",
          "+",
          "-",
          "@",
          "\t",
          "\r",
          "\n",
          '"',
          ",",
          ";",
          "＝",
          "＋",
          "－",
          "＠",
          "'",
          "a",
          " ",
        ),
      }),
    );
    // the last cell is not empty: a line without a comma and a text could be no cell or one
    const line = fc
      .tuple(fc.array(text, { maxLength: 4 }), fc.constant("end"))
      .map(([cells, last]) => [...cells, last]);
    fc.assert(
      fc.property(fc.array(line, { maxLength: 4 }), (rows) => {
        const read = parsed(rows.map(csvLine).join(""));
        expect(read).toEqual(
          rows.map((row) => row.map((cell) => (/^[=+\-@\t\r＝＋－＠]/.test(cell) ? `'${cell}` : cell))),
        );
        for (const cell of read.flat()) expect(cell).not.toMatch(/^[=+\-@\t\r＝＋－＠]/);
      }),
    );
  });
});

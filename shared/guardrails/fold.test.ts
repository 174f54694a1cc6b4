import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fold } from "./fold.ts";
import { LATIN_OF } from "./look-alikes.ts";
import { UnitBuffer } from "./unit-buffer.ts";

interface Folded {
  readonly text: string;
  readonly parts: readonly (readonly [number, number])[];
}

function folded(pieces: readonly string[]): Folded {
  const out = new UnitBuffer(4);
  let [held, offset] = ["", 0];
  for (const piece of [...pieces, ""]) {
    held += piece;
    const after = fold(held, 0, false, offset, out);
    offset += after;
    held = held.slice(after);
  }
  fold(held, 0, true, offset, out);
  const at = [...Array(out.length).keys()];
  return {
    text: at.map((index) => String.fromCharCode(out.at(index))).join(""),
    parts: at.map((index) => [out.startOf(index), out.endOf(index)] as const),
  };
}

const IGNORABLE = /[\p{Default_Ignorable_Code_Point}\u180e]/gu;
const CASE = /[\u0370-\u052f\u0130\u0131\u0251\u0261\u0269]/u;

/** A second implementation, without a map back, for texts without letters that look like others. */
function plainFold(text: string): string {
  return Array.from(text.normalize("NFKC").replace(IGNORABLE, ""), (character) =>
    character.toLowerCase().length === character.length ? character.toLowerCase() : character,
  ).join("");
}

const trickyUnit = fc.constantFrom(
  ...Array.from(
    "aZ 1.\t\n\u00ad\u200b\u200d\u2026\u00a0\u0301\u0323\u0308\u00e9\ufb01\uff21\u3131\u314f\u1100\u1161\u11a8\uac00",
  ),
  "\ud83c",
  "\udd30",
  "\ud83d\ude00",
  "\u{e0041}",
  "\u{1d400}",
  "\u{1f130}",
  "\u30ab",
  "\uff9e",
  "\uffa0",
  "\u09c7",
  "\u09be",
  "\u1e9e",
  "\u0130",
);
const tricky = fc.oneof(
  fc.array(trickyUnit, { maxLength: 20 }).map((units) => units.join("")),
  fc.string({ unit: "binary", maxLength: 20 }),
);

describe("fold", () => {
  it("is NFKC without what is not seen, in lower case", () => {
    fc.assert(
      fc.property(tricky, (text) => {
        fc.pre(!CASE.test(text.normalize("NFKC")));
        expect(folded([text]).text).toBe(plainFold(text));
      }),
      { numRuns: 2000 },
    );
  });

  it("answers the same for a text in pieces, and maps every unit to a part of the text in order", () => {
    fc.assert(
      fc.property(tricky, fc.array(fc.nat(20), { maxLength: 6 }), (text, cuts) => {
        const places = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length];
        const pieces = places.slice(1).map((end, at) => text.slice(places[at], end));
        const whole = folded([text]);
        expect(folded(pieces)).toEqual(whole);
        let before = 0;
        for (const [start, end] of whole.parts) {
          expect(start).toBeGreaterThanOrEqual(before);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
          before = start;
        }
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["ΙGΝΟRE", "ignore"],
    ["рrеviоus", "previous"],
    ["ｓｙｓｔｅｍ", "system"],
    ["𝐢𝐠𝐧𝐨𝐫𝐞", "ignore"],
    ["🄸gnore", "ignore"],
    ["ig\u200bno\u00adre", "ignore"],
    ["i\u{e0067}gnore", "ignore"],
    ["ＩＧＮＯＲＥ\u00a0ＡＬＬ", "ignore all"],
    ["ſystem", "system"],
    ["insтructions", "instructions"],
    ["instruϲtions", "instructions"],
    ["INSTRUϹTIONS", "instructions"],
  ])("folds %s", (given, expected) => {
    expect(folded([given]).text).toBe(expected);
  });

  it("turns every look-alike into its Latin letter", () => {
    const pairs = Array.from(LATIN_OF, (pair) => pair.map((unit) => String.fromCharCode(unit)));
    expect(pairs.map(([letter = ""]) => [letter, folded([letter]).text])).toEqual(pairs);
  });

  it("depends on the case of seven Greek letters only", () => {
    const text = (letter: string): string => folded([letter]).text;
    const letters = Array.from(LATIN_OF.keys(), (unit) => String.fromCharCode(unit).toLowerCase());
    const byCase = letters.filter(
      (letter) => /^\p{scx=Greek}$/u.test(letter) && text(letter) !== text(letter.toUpperCase()),
    );
    expect(new Set(byCase)).toEqual(new Set("γημνσυω"));
  });

  it("maps a ligature and a letter with marks to the whole of them", () => {
    expect(folded(["xﬁe\u0301"])).toEqual({
      text: "xfi\u00e9",
      parts: [
        [0, 1],
        [1, 2],
        [1, 2],
        [2, 4],
      ],
    });
  });

  it("keeps halves of surrogate pairs", () => {
    expect(folded(["a\ud83d", "b\ude00"]).text).toBe("a\ud83db\ude00");
  });

  it("normalises a letter with a million marks in pieces", () => {
    const marks = "\u0301\u0323".repeat(500_000);
    expect(folded([`a${marks}`]).parts.at(-1)?.[1]).toBe(1_000_001);
  });
});

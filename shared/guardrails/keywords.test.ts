/**
 * Keywords against regular expressions, which are tried at every place.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { propertyRuns } from "../../test/harness/property-runs.ts";
import { compileScan } from "./text-scan.ts";

const scanFor = (keywords: readonly string[]) => compileScan({ scanners: ["ban_keywords"], banKeywords: keywords });
const redact = (keywords: readonly string[], text: string) =>
  scanFor(keywords).redactTexts([{ text, user: true }]).texts[0];

const escaped = (text: string) =>
  text.replace(/[^\p{L}\p{N}_]/gu, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`);

/** Every character that is part of a match of a keyword at some place, replaced part by part. */
function expectedOf(keywords: readonly string[], text: string): string {
  const parts: [start: number, end: number][] = [];
  for (const keyword of keywords) {
    const words = keyword.trim().split(/\s+/);
    if (words[0] === "") continue;
    const source = words.map(escaped).join(String.raw`\s{1,32}`);
    const pattern = new RegExp(String.raw`(?<![\p{L}\p{Nd}_])${source}(?![\p{L}\p{Nd}_])`, "iuy");
    for (let at = 0; at < text.length; at++) {
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (found !== null && found.index === at) parts.push([at, at + found[0].length]);
    }
  }
  parts.sort(([a], [b]) => a - b);
  const merged: [start: number, end: number][] = [];
  for (const [start, end] of parts) {
    const last = merged.at(-1);
    if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged.reduceRight((left, [start, end]) => `${left.slice(0, start)}[REDACTED]${left.slice(end)}`, text);
}

const unit = fc.constantFrom(...Array.from("abA \t\n_.1-é😀𐐀"));
const word = fc
  .array(fc.constantFrom(...Array.from("abé.-+😀𐐀")), { minLength: 1, maxLength: 3 })
  .map((all) => all.join(""));
const keyword = fc
  .array(fc.tuple(word, fc.constantFrom(" ", "\t ", "\n")), { minLength: 1, maxLength: 3 })
  .map((all) => all.flat().join(""));
const keywordList = fc.array(keyword, { maxLength: 5 });
const texts = fc.oneof(
  fc.array(unit, { maxLength: 30 }).map((all) => all.join("")),
  fc
    .array(fc.tuple(word, fc.constantFrom(" ", " ", "", "\n", " ".repeat(32), " ".repeat(33))), { maxLength: 8 })
    .map((all) => all.flat().join("")),
);
/** Keywords, and a text that contains one of them more often than by chance. */
const keywordsAndText = fc.tuple(keywordList, texts, fc.boolean(), texts).map(([keywords, before, planted, after]) => {
  const [first = ""] = planted ? keywords : [];
  return [keywords, before + first + after] as const;
});

describe("keywords", () => {
  it("are found where a regular expression finds them", () => {
    let matched = 0;
    fc.assert(
      fc.property(keywordsAndText, ([keywords, text]) => {
        matched += Number(expectedOf(keywords, text) !== text);
        expect(redact(keywords, text)).toBe(expectedOf(keywords, text));
      }),
      { numRuns: propertyRuns(4000) },
    );
    expect(matched).toBeGreaterThan(propertyRuns(120));
  });

  it.each([
    ["C++", "I like C++, not C++11", "I like [REDACTED], not C++11"],
    ["a.b", "a.b axb", "[REDACTED] axb"],
    ["(x|y)*", "so (X|Y)* it is", "so [REDACTED] it is"],
    ["project x", "PROJECT\t\n X and projectx", "[REDACTED] and projectx"],
    ["falcon", "fаlсоn with Cyrillic letters", "[REDACTED] with Cyrillic letters"],
    ["falcon", "f\u200bal\u00adcon ｆａｌｃｏｎ falcons", "[REDACTED] [REDACTED] falcons"],
    ["водка", "ВОДКА, Водка и водка", "[REDACTED], [REDACTED] и [REDACTED]"],
    ["νερό", "Νερό, ΝΕΡΌ, νερό", "[REDACTED], [REDACTED], [REDACTED]"],
    ["straße", "STRASSE Straße", "[REDACTED] [REDACTED]"],
    ["機密", "これは機密です 機密", "これは機密です [REDACTED]"],
    ["ab", "a\u0301b ab\u0301 ab", "a\u0301b [REDACTED] [REDACTED]"],
    ["\u200b \t", "nothing \u200b \t", "nothing \u200b \t"],
    ["pass", "pass pass-word password", "[REDACTED] [REDACTED]-word password"],
  ])("%s in %s", (keyword, text, expected) => {
    expect(redact([keyword], text)).toBe(expected);
  });

  it("are named by their place in the policy", () => {
    const matches = scanFor(["", "b", "a"]).scanTexts([{ text: "a b", user: false }]);
    expect(matches.map(({ label, spans }) => [label, spans])).toEqual([
      ["ban_keywords[2]", [{ text: 0, start: 0, end: 1 }]],
      ["ban_keywords[1]", [{ text: 0, start: 2, end: 3 }]],
    ]);
  });

  it("may be a thousand of 200 characters", () => {
    const keywords = Array.from({ length: 1000 }, (_, at) => `${"secret ".repeat(27)}${at}`.padEnd(200, "."));
    expect(redact(keywords, `x ${keywords[999]} ${keywords[7]} y`)).toBe("x [REDACTED] [REDACTED] y");
  });
});

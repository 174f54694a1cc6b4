/** A stream writes the same replacements as for the whole text, for any cuts, and holds back no more than it must. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileScan } from "./text-scan.ts";

const KEYWORDS = ["falcon", "project x", "a b c", "c++", "x@y.com now", "é"];
const OVERLAPPING = ["a a", "a b a", "b a", "now a", "x@y.com a", "a x@y.com", "word a", "1 1", "a 1", "1 a"];
const both = compileScan({ scanners: ["pii", "ban_keywords"], banKeywords: KEYWORDS });
const pii = compileScan({ scanners: ["pii"], banKeywords: [] });

function stream(scan: typeof both, pieces: readonly string[]): readonly string[] {
  const open = scan.openStream({ pii: 0, ban_keywords: 0 });
  return [...pieces.map((piece) => open.push(piece)), open.finish()];
}

const piece = fc.oneof(
  fc.constantFrom(
    "4111 1111 1111 1111",
    "4111111111111112",
    "123-45-6789",
    "a.b@c.example.com",
    "(555) 123-4567",
    "+12345678",
  ),
  fc.constantFrom(
    "falcon",
    "Project",
    "  x",
    "a b",
    "c++",
    "x@y.com",
    " now",
    "e\u0301",
    "É",
    "\u200b",
    "\ufb01",
    "\u00bd",
  ),
  fc.constantFrom("1", "23", " ", "-", "@", ".", "+", "\n", "\ud83d", "\ude00", "\udb40", "\udc41", "😀", "a", "word"),
  fc.constantFrom("\u200b".repeat(33), " ".repeat(33), "1".repeat(20), "y".repeat(70)),
);
const texts = fc
  .array(fc.tuple(piece, fc.constantFrom("", "", " ")), { maxLength: 10 })
  .map((all) => all.flat().join(""));

describe("a redacting stream", () => {
  it.each([
    ["personal data and keywords", both],
    ["personal data", pii],
    ["keywords", compileScan({ scanners: ["ban_keywords"], banKeywords: KEYWORDS })],
    ["matches that overlap", compileScan({ scanners: ["pii", "ban_keywords"], banKeywords: OVERLAPPING })],
    ["nothing", compileScan({ scanners: [], banKeywords: KEYWORDS })],
  ])("writes the same for each way to cut a text: %s", (_, scan) => {
    fc.assert(
      fc.property(texts, fc.array(fc.nat(200), { maxLength: 8 }), (text, cuts) => {
        const whole = scan.redactTexts([{ text, user: false }]);
        const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
        const pieces = places.slice(1).map((end, at) => text.slice(places[at], end));
        for (const way of [pieces, text.split("")]) {
          const counts = { pii: 0, ban_keywords: 0 };
          const open = scan.openStream(counts);
          const once = (): string => way.map((part) => open.push(part)).join("") + open.finish();
          // the second is a separate text, whatever the end of the first
          expect([once(), once()]).toEqual([whole.texts[0], whole.texts[0]]);
          expect(counts).toEqual({ pii: 2 * whole.counts.pii, ban_keywords: 2 * whole.counts.ban_keywords });
        }
      }),
      { numRuns: 1500 },
    );
  });

  it.each([
    ["a word that may be an e-mail address", pii, ["Hello wor", "ld, again"], ["Hello ", "world, "]],
    ["64 characters of a long word", pii, ["y".repeat(100)], ["y".repeat(36)]],
    ["a number that may go on", pii, ["I paid 41", "11 apples"], ["I paid ", "4111 "]],
    ["an e-mail address that may go on", pii, ["to a@b.co", " now "], ["to ", "[REDACTED:EMAIL] now "]],
    ["nothing behind a line break", pii, ["one.\n", "two\n"], ["one.\n", "two\n"]],
    ["half of a surrogate pair", pii, ["\ud83d", "\ude00"], ["", "\ud83d\ude00"]],
    ["a keyword that may be a longer word", both, ["falcon", "ry "], ["", "falconry "]],
    ["the white space within a keyword", both, ["project  ", " y."], ["", "project   "]],
  ])("holds back %s", (_, scan, pieces, expected) => {
    expect(stream(scan, pieces).slice(0, -1)).toEqual(expected);
  });

  it("lets go of white space and unseen characters that are too many for a keyword", () => {
    const open = both.openStream({ pii: 0, ban_keywords: 0 });
    expect(open.push("project")).toBe("");
    expect(open.push(" ".repeat(32))).toBe("");
    expect(open.push(" ")).toBe(`project${" ".repeat(33)}`);
  });

  it.each(["no ", "a b ", "x@y.com ", "4111 1111 1111 1111 "])(
    "holds nothing for matches that overlap forever: %j",
    (unit) => {
      const once = unit.trim();
      const scan = compileScan({
        scanners: ["pii", "ban_keywords"],
        banKeywords: [`${once} ${once}`, "b a", "1111 4111"],
      });
      const open = scan.openStream({ pii: 0, ban_keywords: 0 });
      for (let at = 0; at < 2_000; at++) {
        expect(open.push(unit)).toBe("");
        expect(open.bytes).toBeLessThan(16 * 1024);
      }
      expect(open.push("and then ") + open.finish()).toMatch(/^\[REDACTED(?::\w+)?\] and then $/);
    },
  );

  it("never holds back more than its bound, in a million hostile characters", { tags: ["check"] }, () => {
    for (const unit of [
      "a",
      "1",
      "1 ",
      "a@",
      "a.",
      "a@a.a",
      "+",
      "(",
      "\u200b",
      "project ",
      "e\u0301",
      "1\u200b",
      "\ud83d",
    ]) {
      const open = both.openStream({ pii: 0, ban_keywords: 0 });
      let [given, written] = [0, 0];
      for (let at = 0; at < 200; at++) {
        const piece = unit.repeat(5_000 / unit.length);
        given += piece.length;
        written += open.push(piece).length;
        expect(given - written).toBeLessThan(1_500);
      }
    }
  });
});

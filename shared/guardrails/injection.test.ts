/** The work of the search for prompt injection grows only with the length of the text, for any text. */
import { describe, expect, it } from "vitest";
import { collapseBlanks, fold } from "./fold.ts";
import { InjectionFinder } from "./injection.ts";
import { INJECTION_PATTERNS } from "./injection-patterns.ts";
import { UnitBuffer } from "./unit-buffer.ts";

const SIZE = 1_000_000;

/** How many steps a search takes that accepts no match, so that it looks for every pattern to the end. */
function stepsFor(text: string): number {
  const folded = new UnitBuffer(text.length);
  fold(text, 0, true, 0, folded);
  collapseBlanks(folded, 0);
  const finder = new InjectionFinder(() => false);
  finder.read(folded, true);
  return finder.steps;
}

/** All words of a part of a pattern, which start many matches and end none. */
function wordsOf(part: string): string {
  return [...part.replaceAll(/\\[bns]/g, " ").matchAll(/[a-z_]{2,}|[<[#:]/g)].map(([word]) => word).join(" ");
}

const filled = (unit: string, size: number): string => unit.repeat(Math.ceil(size / unit.length)).slice(0, size);

describe("the search for prompt injection", () => {
  it.each(INJECTION_PATTERNS)(
    "takes a bounded number of steps for each of a million characters: $label",
    ({ parts }) => {
      const beginnings = parts.length === 1 ? parts : parts.slice(0, -1);
      const unit = `${beginnings.map(wordsOf).join(" ")} `;
      expect(stepsFor(filled(unit, SIZE))).toBeLessThan(12 * SIZE);
    },
  );

  it.each([
    ["the first words of all patterns", INJECTION_PATTERNS.map(({ parts }) => wordsOf(parts[0] ?? "")).join(" ")],
    ["white space that a pattern allows", `\nsystem:${"\n".repeat(50_000)}`],
    ["headings", `\n${"#".repeat(50_000)}`],
    ["the shortest beginnings", "act as "],
    ["pairs in the gaps", `ignore ${"😀".repeat(14)} all `],
  ])("takes steps in proportion to the text: %s", (_, unit) => {
    const [half, whole] = [stepsFor(filled(unit, SIZE / 2)), stepsFor(filled(unit, SIZE))];
    expect(whole).toBeLessThan(2.2 * half);
    expect(whole).toBeLessThan(12 * SIZE);
  });
});

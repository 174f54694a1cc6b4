/** The labelled texts are enough and varied, and the table of the rules has the figures of this version of the scanners. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { evaluate, mistakes, patternHits, readCorpus, scoreTable } from "./evaluate.ts";

const PAGE = join(import.meta.dirname, "../../docs/rules/guardrails.md");
const SCANNERS = ["prompt_injection", "pii", "ban_keywords"] as const;

describe("the scanners on labelled texts", () => {
  it.each(SCANNERS)("have at least 300 different ones for %s, half of them harmless", (scanner) => {
    const corpus = readCorpus(scanner);
    const harmless = corpus.filter(({ labels }) => labels.length === 0);
    expect(corpus.length).toBeGreaterThanOrEqual(300);
    expect(harmless.length * 2).toBeGreaterThanOrEqual(corpus.length);
    expect(new Set(corpus.map((line) => JSON.stringify(line))).size).toBe(corpus.length);
  });

  it("have the figures that the rules state", () => {
    expect(readFileSync(PAGE, "utf8")).toContain(`\n${scoreTable(evaluate())}\n`);
  });

  it("find each pattern of prompt injection in some attack", () => {
    expect([...patternHits().values()].filter(({ attacks }) => attacks > 0)).toHaveLength(25);
  });

  it("tell their mistakes one by one", () => {
    const [score] = evaluate();
    const { missed, wrong } = mistakes("prompt_injection");
    expect({ missedCount: missed.length, wrongCount: wrong.length }).toEqual({
      missedCount: score?.missed,
      wrongCount: score?.wrong,
    });
  });
});

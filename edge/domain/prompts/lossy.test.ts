/**
 * The omissions of the lossy passes, and their limits (docs/rules/compression.md#lossy-passes).
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { blocksOf, withBlocks } from "./block.ts";
import { compactLog } from "./log-lines.ts";
import { compactLogBlocks, keepBestSentences, proseBlocks } from "./lossy.ts";
import { heuristicScores, keepBest, OMITTED, queryTerms, sentencesOf } from "./sentences.ts";

describe("log compaction", () => {
  const stamp = (at: number) => `2026-01-01T10:00:${String(at).padStart(2, "0")}Z`;

  it("lines of one template that are there more than three times become one", () => {
    const lines = [0, 1, 2, 3].map((at) => `${stamp(at)} INFO took ${at * 17} ms for 0x${at}f`);
    expect(atOnce(compactLog(lines.join("\n")))).toBe(`${lines[0]} (×4)${OMITTED}`);
    expect(atOnce(compactLog(lines.slice(1).join("\n")))).toBeNull();
  });

  it.each(["error", "WARN", "Fatal", "panic", "NullPointerException"])("lines with %s stay", (word) => {
    const lines = [0, 1, 2, 3, 4].map((at) => `${stamp(at)} ${word} ${at}`);
    expect(atOnce(compactLog(lines.join("\n")))).toBeNull();
  });

  it("numbers, hex numbers, ids and times are masked, words are not", () => {
    const same = (one: string, other: string) => atOnce(compactLog([one, other, one, other].join("\n"))) !== null;
    expect(same("took 12ms", "took 7ms")).toBe(true);
    expect(same("at deadbeef", "at cafebabe")).toBe(true);
    expect(same("id 5f3a0c1e-aaaa-4bbb-8ccc-abcdefabcdef", "id 0f3a0c1e-bbbb-4aaa-8ddd-fedcbafedcba")).toBe(true);
    expect(same("user usr9x8k2", "user abc12345")).toBe(true);
    expect(same("connected", "refused")).toBe(false);
  });

  it("each dropped stretch leaves its mark at the line before it", () => {
    const tick = (at: number) => `12:00:0${at} tick`;
    const text = [tick(0), tick(1), "12:00:02 ERROR x", tick(3), tick(4), "", "12:00:05 end\r"].join("\n");
    expect(atOnce(compactLog(text))).toBe(
      [`${tick(0)} (×4)${OMITTED}`, `12:00:02 ERROR x${OMITTED}`, "", "12:00:05 end\r"].join("\n"),
    );
  });
});

const PROSE =
  "Alpha came first. Dr. Beta, e.g. the second, waited. Was gamma late?! Delta was not.\n\nEpsilon ended it. Zeta: 3.14 is no end.";

describe("sentences", () => {
  it("end where people end them", () => {
    expect(atOnce(sentencesOf(PROSE)).map((sentence) => sentence.trim())).toEqual([
      "Alpha came first.",
      "Dr. Beta, e.g. the second, waited.",
      "Was gamma late?!",
      "Delta was not.",
      "Epsilon ended it.",
      "Zeta: 3.14 is no end.",
    ]);
    expect(atOnce(sentencesOf("第一句。第二句！三"))).toEqual(["第一句。", "第二句！", "三"]);
    expect(atOnce(sentencesOf("- one\n- two\n1. three\n2. four"))).toEqual([
      "- one\n",
      "- two\n",
      "1. three\n",
      "2. four",
    ]);
  });

  it("are found in time linear in a text of one line", () => {
    const text = "a b ".repeat(500_000);
    expect(atOnce(sentencesOf(text)).join("")).toBe(text);
  });

  it("joined are the text, whatever it is", () => {
    const part = fc.constantFrom(
      ".",
      "!",
      " ",
      "\n",
      "\n\n",
      "word",
      "Dr",
      "1",
      "- ",
      "。",
      '"',
      ")",
      "\u00a0",
      "😀",
      "\ud800",
    );
    const text = fc.oneof(
      fc.array(part, { maxLength: 60 }).map((parts) => parts.join("")),
      fc.string({ unit: "binary" }),
    );
    fc.assert(
      fc.property(text, (given) => {
        expect(atOnce(sentencesOf(given)).join("")).toBe(given);
      }),
    );
  });

  it.each([".", ". ", "\n", " ", "。", "a. ", ".)", "1. "])("a megabyte of %j is cut in linear time", (unit) => {
    expect(atOnce(sentencesOf(unit.repeat(1_000_000 / unit.length))).join("")).toHaveLength(
      1_000_000 - (1_000_000 % unit.length),
    );
  });
});

describe("the sentences that are kept", () => {
  const sentences = atOnce(sentencesOf(PROSE));
  const keep = (scores: readonly number[], keepRatio: number, question = "") =>
    atOnce(keepBest(sentences, scores, { keepRatio, terms: queryTerms(question) }));

  it("are the best share, rounded up, in their order; a dropped stretch leaves one mark", () => {
    expect(keep([9, 0, 0, 0, 8, 0], 0.2)).toBe(`Alpha came first.${OMITTED}\n\nEpsilon ended it.${OMITTED}`);
    expect(keep([0, 0, 0, 0, 0, 9], 0.01)).toBe(`${OMITTED} Zeta: 3.14 is no end.`);
    expect(keep([0, 0, 0, 0, 0, 0], 0.5)).toBe(`${sentences.slice(0, 3).join("").trimEnd()}${OMITTED}`);
    expect(keep([1, 1, 1, 1, 1, 1], 1)).toBeNull();
  });

  it("and those with a word of at least four letters of the question", () => {
    expect(keep([9, 0, 0, 0, 0, 0], 0.01, "was DELTA it?")).toBe(
      `Alpha came first.${OMITTED} Delta was not.${OMITTED}`,
    );
    expect(queryTerms("Is it the LAST one of 2026, naïve?")).toEqual(new Set(["last", "naïve"]));
  });

  it("score by length and by words of the question when there is no sidecar", () => {
    const scores = atOnce(
      heuristicScores(["x".repeat(50), "x".repeat(400), "delta and delta", "😀".repeat(100)], new Set(["delta"])),
    );
    expect(scores).toEqual([0.25, 1, 4 + 15 / 200, 0.5]);
  });

  it("are sentences of the text, in its order, whatever the scores are", () => {
    const words = fc.array(fc.constantFrom("One here. ", "Two.\n\n", "Three! ", "four\n- ", "five 。"), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(
        words,
        fc.array(fc.double({ noNaN: true })),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (parts, scores, keepRatio) => {
          const all = atOnce(sentencesOf(parts.join("")));
          const kept = atOnce(
            keepBest(
              all,
              all.map((_, at) => scores[at] ?? 0),
              { keepRatio, terms: new Set() },
            ),
          );
          if (kept === null) return;
          let at = 0;
          for (const piece of kept.split(OMITTED)) {
            const found = parts.join("").indexOf(piece.trim(), at);
            expect(found).toBeGreaterThanOrEqual(at);
            at = found + piece.trim().length;
          }
        },
      ),
    );
  });
});

describe("lossy passes", () => {
  const log = (word: string, count: number) =>
    Array.from({ length: count }, (_, at) => `12:00:${String(at).padStart(2, "0")} ${word} done`).join("\n");
  const texts = [log("small", 10), log("large", 30), PROSE, `${PROSE} ${PROSE}`];

  it("touch no more blocks than they may, the longest first", () => {
    const blocks = atOnce(blocksOf(texts, 1, 64));
    const logs = atOnce(compactLogBlocks(blocks, 1));
    expect({ changed: logs.changed, firstText: withBlocks(texts, logs.blocks)[0] }).toEqual({
      changed: 1,
      firstText: texts[0],
    });
    expect(atOnce(compactLogBlocks(blocks, 9)).changed).toBe(2);
    expect(atOnce(proseBlocks(blocks, 1)).map(({ block }) => block.text)).toEqual([3]);
    expect(atOnce(proseBlocks(blocks, 0))).toEqual([]);
    const prose = atOnce(proseBlocks(blocks, 2));
    const scores = prose.map(({ sentences }) => sentences.map(() => 0));
    const kept = atOnce(keepBestSentences(blocks, prose, scores, { keepRatio: 0.5, terms: new Set() }));
    expect(kept.changed).toBe(2);
    expect(withBlocks(texts, kept.blocks).slice(0, 2)).toEqual(texts.slice(0, 2));
  });

  it("leave what others refer to, and texts of less than four sentences", () => {
    const blocks = atOnce(blocksOf([...texts, "One. Two. Three."], 1, 64)).map((block) => ({
      ...block,
      referred: true,
    }));
    expect({
      changed: atOnce(compactLogBlocks(blocks, 9)).changed,
      proseBlocks: atOnce(proseBlocks(blocks, 9)),
    }).toEqual({
      changed: 0,
      proseBlocks: [],
    });
    expect(atOnce(proseBlocks(atOnce(blocksOf(["One. Two. Three."], 1, 64)), 9))).toEqual([]);
  });
});

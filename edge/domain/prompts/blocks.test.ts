/** Which stretches of a text are blocks, their classes, and that nothing else changes (docs/rules/compression.md#blocks). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { blocksOf, TEXT_CHARS_MAX, withBlocks } from "./block.ts";
import { compactCode, compactCodeBlocks, compactJsonBlocks } from "./structural.ts";

const kindsOf = (text: string, minTokens = 1) =>
  atOnce(blocksOf([text], minTokens, 64)).map(({ kind, original }) => [kind, original]);
const LOG = Array.from({ length: 8 }, (_, at) => `2026-01-01T00:00:0${at}Z INFO started part ${at}`).join("\n");
const CODE = "function f() {\n  return 1;\n}\nconst x = f();";
const PROSE = "The first sentence is here. The second one follows it, as it should.";

describe("a block", () => {
  it.each([
    ["prose", PROSE],
    ["json", '{ "a": [1, 2] }'],
    ["log", LOG],
    ["code", CODE],
  ])("%s is found by what it is", (kind, text) => {
    expect(kindsOf(text)).toEqual([[kind, text]]);
  });

  it.each([
    ["INFO  ready", "log"],
    ["[ERROR] failed", "log"],
    ["12:00:01 connected", "log"],
    ["Jan 12 04:00:01 host sshd: session opened", "log"],
    ["level=info msg=ready", "log"],
    ["1700000000 tick", "log"],
    ["nothing of the kind", "prose"],
  ])("half of eight lines like %j make %s", (line, kind) => {
    const lines = (count: number) => Array.from({ length: 8 }, (_, at) => (at < count ? line : "and a line of words"));
    expect(kindsOf(lines(4).join("\n"))).toMatchObject([[kind, expect.anything()]]);
    expect(kindsOf(lines(3).join("\n"))).toMatchObject([["prose", expect.anything()]]);
    expect(kindsOf(lines(4).slice(0, 7).join("\n"))).toMatchObject([["prose", expect.anything()]]);
  });

  it("fences are code, JSON or a diff; what is around them is blocks of its own", () => {
    const text = `${PROSE}\n\`\`\`ts\n${CODE}\n\`\`\`\nmore\n~~~json\n{"a": 1}\n~~~\n\`\`\`diff\n- a \n\`\`\`\n\`\`\`\nopen to the end`;
    expect(kindsOf(text)).toEqual([
      ["prose", `${PROSE}\n`],
      ["code", CODE],
      ["prose", "\nmore\n"],
      ["json", '{"a": 1}'],
      ["diff", "- a "],
      ["code", "open to the end"],
    ]);
  });

  it("JSON between lines of prose is a block of its own", () => {
    expect(kindsOf(`The result:\n{"a":\n [1]}\n${PROSE}`)).toEqual([
      ["prose", "The result:\n"],
      ["json", '{"a":\n [1]}'],
      ["prose", `\n${PROSE}`],
    ]);
    expect(kindsOf(`{"a": 1} and more`)).toEqual([["prose", '{"a": 1} and more']]);
  });

  it("has at least the tokens that are asked for, and the longest are kept", () => {
    expect(kindsOf("x".repeat(511), 128)).toEqual([]);
    expect(kindsOf("x".repeat(512), 128)).toHaveLength(1);
    expect(atOnce(blocksOf(["aaaa", "bbbbbbbb", "cccccc"], 1, 2)).map(({ text }) => text)).toEqual([1, 2]);
    expect(kindsOf("x".repeat(TEXT_CHARS_MAX + 1))).toEqual([]);
  });

  it("texts of brackets cost no more than their length", { tags: ["check"] }, () => {
    for (const line of ["[", "{", "[[[[", '{"a":', "[1,", "```"]) {
      const text = `${line}\n`.repeat(100_000);
      expect(withBlocks([text], atOnce(blocksOf([text], 1, 64)))).toEqual([text]);
    }
  });

  it("texts whose blocks have not changed are as they were", () => {
    const part = fc.constantFrom(
      "```",
      "```json",
      "~~~",
      "{",
      "}",
      '{"a": 1}',
      "[1,\n2]",
      LOG,
      CODE,
      PROSE,
      "",
      "\r",
      "\ud800",
    );
    const text = fc.oneof(
      fc.array(part).map((parts) => parts.join("\n")),
      fc.string({ unit: "binary" }),
    );
    fc.assert(
      fc.property(
        fc.array(text),
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 5 }),
        (texts, min, max) => {
          const blocks = atOnce(blocksOf(texts, min, max));
          expect(blocks.length).toBeLessThanOrEqual(max);
          expect(withBlocks(texts, blocks)).toEqual(texts);
        },
      ),
    );
  });
});

describe("code compaction", () => {
  it("removes blanks at line ends and repeated blank lines, and nothing else", () => {
    expect(atOnce(compactCode("a  \n\n \t\n\nb\t\r\n\r\n\r\nc"))).toBe("a\n\nb\r\n\r\nc");
    const line = fc
      .tuple(fc.array(fc.constantFrom("a", "  b", " ", "\t", "", "x  y"), { maxLength: 4 }), fc.constantFrom("", "\r"))
      .map(([parts, end]) => parts.join("") + end);
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const text = lines.join("\n");
        const once = atOnce(compactCode(text));
        const visible = (code: string) => code.split("\n").map((each) => each.replace(/[ \t]*(\r?)$/, "$1"));
        const filled = (code: string) => visible(code).filter((each) => each.replace("\r", "") !== "");
        expect(atOnce(compactCode(once))).toBe(once);
        expect(once.length).toBeLessThanOrEqual(text.length);
        expect(filled(once)).toEqual(filled(text));
      }),
    );
  });

  it("looks at code only, JSON compaction at JSON only", () => {
    const texts = [
      `\`\`\`py\nx = 1${" ".repeat(20)}\n\`\`\``,
      `\`\`\`diff\n+x${" ".repeat(20)}\n\`\`\``,
      `{"a":${" ".repeat(20)}1}`,
    ];
    const blocks = atOnce(blocksOf(texts, 1, 64));
    expect(withBlocks(texts, atOnce(compactCodeBlocks(blocks)))).toEqual(["```py\nx = 1\n```", ...texts.slice(1)]);
    const { blocks: json, compacted } = atOnce(compactJsonBlocks(blocks));
    expect(withBlocks(texts, json)).toEqual([...texts.slice(0, 2), '{"a":1}']);
    expect(compacted).toBe(1);
  });
});

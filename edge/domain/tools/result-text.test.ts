/** The text of a tool's result for a model (docs/rules/tool-loop.md#results). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { errorText, resultText } from "./result-text.ts";

describe("the text of a result", () => {
  it.each([
    [
      {
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      "a\nb",
    ],
    [{ content: [{ type: "image", data: "AAAA", mimeType: "image/png" }] }, "[image, image/png, 3 bytes]"],
    [{ content: [{ type: "audio", data: 7 }] }, "[audio]"],
    [{ content: [{ type: "resource", resource: { uri: "a:b", text: "t" } }] }, "t"],
    [{ content: [{ type: "resource", resource: { uri: "a:b", blob: "AAAA" } }] }, "[resource, a:b, 3 bytes]"],
    [{ content: [{ type: "resource_link", uri: "a:b", mimeType: "x/y" }] }, "[resource link, a:b, x/y]"],
    [{ content: [{ type: "new" }, 7, null] }, Array(3).fill("[content of an unknown kind]").join("\n")],
    [{ content: [], structuredContent: { a: 1 } }, '{"a":1}'],
    [{ content: [{ type: "text", text: "x" }], structuredContent: { a: 1 } }, "x"],
    [{}, "(no content)"],
    [{ content: [{ type: "text" }] }, "(no content)"],
    [{ content: [{ type: "text", text: "why" }], isError: true }, "error: why"],
    [{ isError: true }, "error: the tool has failed"],
    [{ content: [{ type: "text", text: "ok" }], isError: "yes" }, "ok"],
  ])("of %j is %j", (result, text) => {
    expect(atOnce(resultText(result))).toBe(text);
  });

  it("is at most 16,000 characters, and no half ones", () => {
    const block = (text: string) => ({ content: [{ type: "text", text }] });
    expect(atOnce(resultText(block("x".repeat(20_000))))).toBe("x".repeat(16_000));
    expect(atOnce(resultText(block("😀".repeat(20_000))))).toBe("😀".repeat(16_000));
    expect(atOnce(resultText(block(`${"x".repeat(15_999)}😀y`)))).toBe(`${"x".repeat(15_999)}😀`);
    expect(atOnce(resultText(block("a\ud800b")))).toBe("a\ufffdb");
    expect(errorText("x".repeat(20_000))).toHaveLength(16_000);
    const many = { content: Array.from({ length: 100_000 }, () => ({ type: "text", text: "y" })) };
    expect(atOnce(resultText(many))).toHaveLength(16_000);
  });

  it("never fails", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.jsonValue(), (content, structuredContent) => {
        expect(typeof atOnce(resultText({ content, structuredContent }))).toBe("string");
      }),
    );
  });
});

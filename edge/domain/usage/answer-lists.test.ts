/** Lists of answers, each with its own report, as SGLang writes them (docs/rules/settlement-and-rows.md#what-was-seen). */
import { describe, expect, it } from "vitest";
import { type SeenUsage, UsageScan } from "./usage-scan.ts";

function scan(text: string, size: number): SeenUsage {
  const bytes = new TextEncoder().encode(text);
  const usage = new UsageScan({ content: true, anyForm: true });
  for (let at = 0; at < bytes.byteLength; at += size) usage.push(bytes.subarray(at, at + size));
  return usage.usage();
}

const item = {
  text: "a",
  meta_info: { id: "x", prompt_tokens: 5, completion_tokens: 6, finish_reason: { type: "stop" } },
};

describe("the usage of a list of answers", () => {
  it.each<[string, unknown, object | null]>([
    [
      "of all its answers",
      [item, { ...item, meta_info: { completion_tokens: 60, prompt_tokens: 50 } }, { text: "c" }],
      {
        inputTokens: 55,
        outputTokens: 66,
      },
    ],
    ["of a single one", [item], { inputTokens: 5, outputTokens: 6 }],
    ["of no list within it", [[item]], null],
    ["of nothing deeper in an answer", [{ a: item }], null],
    ["of no list below a member", { list: [item] }, null],
  ])("is that %s", (_, body, reported) => {
    for (const size of [1, 1000]) {
      const seen = scan(JSON.stringify(body), size).reported;
      if (reported === null) expect(seen).toBeNull();
      else expect(seen).toMatchObject(reported);
    }
  });

  it("that is cut is that of the answers that have come", () => {
    const text = JSON.stringify([item, item, item]);
    const { reported, final } = scan(text.slice(0, text.lastIndexOf("text")), 3);
    expect({ reported, final }).toEqual({
      reported: { inputTokens: 10, outputTokens: 12, totalTokens: null },
      final: false,
    });
    expect(scan(text, 3)).toMatchObject({ reported: { inputTokens: 15, outputTokens: 18 }, final: true });
    expect(scan(`${text}\n`.repeat(2), 3).reported).toMatchObject({ inputTokens: 15, outputTokens: 18 });
  });
});

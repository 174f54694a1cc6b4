import { describe, expect, it } from "vitest";
import { readJson } from "./json-document.ts";
import { estimateChat, textTokens } from "./token-estimate.ts";

function estimate(body: object) {
  const document = readJson(new TextEncoder().encode(JSON.stringify(body)));
  if (document === null) throw new Error("the test's body is an object");
  return estimateChat(document);
}

const user = (content: unknown) => ({ role: "user", content });

describe("the estimate of a chat request (decisions §18)", () => {
  it.each([
    [0, 0],
    [1, 1],
    [7, 1],
    [8, 2],
  ])("%i code points are %i tokens", (points, tokens) => {
    expect(textTokens(points)).toBe(tokens);
  });

  it("counts text and four per message, output between 512 and 8192", () => {
    expect(estimate({ messages: [user("a".repeat(40)), user("😀".repeat(8))] })).toEqual({
      inputTokens: 20,
      outputTokens: 512,
      totalTokens: 532,
      statedOutputTokens: null,
    });
    expect(estimate({ messages: [user("a".repeat(8000))] }).outputTokens).toBe(2004);
    expect(estimate({ messages: [user("a".repeat(80_000))] }).outputTokens).toBe(8192);
  });

  it("counts each text part, and no other part", () => {
    const content = [
      { type: "text", text: "12345678" },
      { type: "image_url", image_url: { url: "x".repeat(1000) } },
      { type: "text", text: "1" },
      "odd",
    ];
    expect(estimate({ messages: [user(content), { role: "assistant", content: null }, "odd"] }).inputTokens).toBe(
      2 + 1 + 4 + 4 + 4,
    );
  });

  it("takes the first stated maximum, cut to 8192 but remembered as given", () => {
    expect(estimate({ messages: [], max_tokens: 10, max_completion_tokens: 99 })).toMatchObject({
      outputTokens: 10,
      statedOutputTokens: 10,
    });
    expect(estimate({ messages: [], max_completion_tokens: 100_000 })).toMatchObject({
      outputTokens: 8192,
      statedOutputTokens: 100_000,
    });
    expect(estimate({ messages: [], max_tokens: 0 })).toMatchObject({ outputTokens: 0, totalTokens: 1 });
    expect(estimate({ messages: [], max_tokens: -5 })).toMatchObject({ outputTokens: 512 });
  });
});

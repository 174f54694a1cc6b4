import { describe, expect, it } from "vitest";
import { BrainAnswer } from "./brain-answer.ts";

describe("an answer of the model", () => {
  it("joins text, and the arguments of calls, from their pieces", () => {
    const answer = new BrainAnswer();
    const piece = (delta: object) => answer.take(JSON.stringify({ choices: [{ delta }] }));
    expect(piece({ content: "Hel" })).toBe("Hel");
    piece({ tool_calls: [{ index: 0, id: "a", function: { name: "get_tenants", arguments: '{"q"' } }] });
    piece({ tool_calls: [{ index: 0, function: { arguments: ':"x"}' } }] });
    answer.take(JSON.stringify({ choices: [], usage: { total_tokens: 12 } }));
    answer.take("[DONE]");
    expect(answer.turn).toEqual({
      text: "Hel",
      calls: [{ id: "a", name: "get_tenants", arguments: '{"q":"x"}' }],
      tokens: 12,
    });
  });

  it("can be a whole completion, and ignores invalid numbers of tokens", () => {
    const answer = new BrainAnswer();
    for (const total_tokens of [1e308, -1, 1.5, "9", null])
      answer.take(JSON.stringify({ choices: [{ message: { content: "a" } }], usage: { total_tokens } }));
    expect(answer.turn).toEqual({ text: "aaaaa", calls: [], tokens: null });
  });

  it("of more parts than a model writes is left out unparsed", () => {
    const answer = new BrainAnswer();
    const event = (parts: number) => `{"choices":[{"delta":{"content":"a"}}],"x":[${"{},".repeat(parts)}{}]}`;
    expect([answer.take(event(1000)), answer.take(event(20_000))]).toEqual(["a", ""]);
  });

  it("has limited text, calls and arguments", () => {
    const answer = new BrainAnswer();
    const call = (index: number) => ({ index, function: { name: "n", arguments: "x".repeat(100_000) } });
    for (let nth = 0; nth < 20; nth += 1)
      answer.take(JSON.stringify({ choices: [{ delta: { content: "y".repeat(10_000), tool_calls: [call(nth)] } }] }));
    for (let nth = 0; nth < 3; nth += 1)
      answer.take(JSON.stringify({ choices: [{ delta: { tool_calls: [call(0)] } }] }));
    const { text, calls } = answer.turn;
    expect({ textLength: text.length, callCount: calls.length, argumentsLength: calls[0]?.arguments.length }).toEqual({
      textLength: 32 * 1024,
      callCount: 8,
      argumentsLength: 100_000,
    });
  });
});

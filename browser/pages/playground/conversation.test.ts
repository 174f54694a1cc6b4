/** A conversation becomes messages that an upstream accepts, whatever happened in it. */
import { describe, expect, it } from "vitest";
import { NO_ANSWER } from "./answer.ts";
import { type Exchange, isAnswered, messagesOf, openCalls, type Turn, withExchange } from "./conversation.ts";

const exchange = (id: number, change: Partial<Exchange> = {}): Exchange => ({
  id,
  model: "m",
  results: [],
  answer: NO_ANSWER,
  state: "done",
  failure: null,
  sentAtMs: 0,
  firstMs: null,
  totalMs: null,
  headers: null,
  ...change,
});
const said = (content: string) => ({ answer: { ...NO_ANSWER, content } });
const turn = (text: string, ...lanes: readonly (readonly Exchange[])[]): Turn => ({ id: 1, text, images: [], lanes });
const call = { id: "c1", name: "weather", args: '{"at":"Oslo"}' };
const calling = exchange(1, { answer: { ...NO_ANSWER, toolCalls: [call, { ...call, id: "c2" }] } });

it("takes a head that keeps a waiting stream alive for no answer", () => {
  const early = { "content-type": "text/event-stream", "x-gateway-request-id": "r" };
  expect([null, early, { ...early, "x-gateway-overhead-ms": "3" }].map((headers) => isAnswered({ headers }))).toEqual([
    false,
    false,
    true,
  ]);
});

describe("messages", () => {
  it("are the turns with the lane's own answers, or those of the first where it was not asked", () => {
    const turns = [
      turn("one", [exchange(1, said("first"))]),
      turn("two", [exchange(2, said("a"))], [exchange(3, said("b"))]),
    ];
    expect(messagesOf(" ", turns, 1)).toEqual([
      { role: "user", content: "one" },
      { role: "assistant", content: "first" },
      { role: "user", content: "two" },
      { role: "assistant", content: "b" },
    ]);
    expect(messagesOf("be brief", [turn("one")], 0)).toEqual([
      { role: "system", content: "be brief" },
      { role: "user", content: "one" },
    ]);
  });

  it("have images as parts, and no text where nothing was written", () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } };
    const images = ["data:image/png;base64,AA"];
    expect(messagesOf("", [{ ...turn("see"), images }], 0)).toEqual([
      { role: "user", content: [{ type: "text", text: "see" }, image] },
    ]);
    expect(messagesOf("", [{ ...turn(""), images }], 0)).toEqual([{ role: "user", content: [image] }]);
  });

  it("have calls of tools with their results, and leave out what has none", () => {
    const answered = exchange(2, { results: [{ id: "c1", content: "rain" }], ...said("It rains.") });
    expect(messagesOf("", [turn("weather?", [calling, answered])], 0)).toEqual([
      { role: "user", content: "weather?" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: '{"at":"Oslo"}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: "rain" },
      { role: "assistant", content: "It rains." },
    ]);
    expect(messagesOf("", [turn("weather?", [calling]), turn("never mind")], 0)).toEqual([
      { role: "user", content: "weather?" },
      { role: "user", content: "never mind" },
    ]);
  });

  it("leave out an answer that failed without a word, and keep the part of one that was stopped", () => {
    const failed = exchange(1, { state: "failed" });
    const stopped = exchange(2, { state: "stopped", ...said("half") });
    expect(messagesOf("", [turn("a", [failed]), turn("b", [stopped])], 0)).toEqual([
      { role: "user", content: "a" },
      { role: "user", content: "b" },
      { role: "assistant", content: "half" },
    ]);
  });
});

it("a change reaches its exchange alone, and leaves other turns as they are", () => {
  const turns = [turn("a", [exchange(1)]), turn("b", [exchange(2)], [exchange(3)])];
  const changed = withExchange(turns, 3, (one) => ({ ...one, state: "stopped" }));
  expect(changed[0]).toBe(turns[0]);
  expect(changed[1]?.lanes.flat().map(({ id, state }) => [id, state])).toEqual([
    [2, "done"],
    [3, "stopped"],
  ]);
  expect(withExchange(turns, 9, (one) => one)).toEqual(turns);
});

it("results are asked for once, of calls that have an id, when the answer is whole", () => {
  expect(openCalls(calling, undefined).map(({ id }) => id)).toEqual(["c1", "c2"]);
  expect(openCalls(calling, exchange(2))).toEqual([]);
  expect(openCalls({ ...calling, state: "running" }, undefined)).toEqual([]);
});

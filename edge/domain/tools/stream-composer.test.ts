/** The stream that a client reads of several turns (docs/rules/tool-loop.md#streaming). */
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { dataEvent, EventReader } from "../../../shared/wire/event-reader.ts";
import { AT_ONCE_MAX, watchJson } from "../../../test/harness/edge/work-at-once.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { StreamComposer } from "./stream-composer.ts";
import { decideTurn } from "./turn.ts";

const OWNED = new Set(["search"]);
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

const head = (nth: number) => ({ id: `c${nth}`, object: "chat.completion.chunk", created: nth, model: `m${nth}` });
const chunk = (nth: number, delta: JsonObject, finish: string | null = null, more: JsonObject = {}) =>
  dataEvent(JSON.stringify({ ...head(nth), choices: [{ index: 0, delta, finish_reason: finish }], ...more }));
const usageChunk = (nth: number) => dataEvent(JSON.stringify({ ...head(nth), choices: [], usage: USAGE }));
const calls = (...deltas: readonly JsonObject[]) => ({ tool_calls: deltas });
const DONE = "data: [DONE]\n\n";

/** Plays the streams of turns as the loop does; each comes in pieces of `size` bytes. */
function play(streams: readonly string[], { size = 7, usageAsked = false, maxTurns = 4, maxCharacters = 10_000 } = {}) {
  const composer = new StreamComposer({ owned: OWNED, usageAsked, turnMaxCharacters: maxCharacters });
  const live: string[] = [];
  for (const [nth, stream] of streams.entries()) {
    if (nth > 0) composer.nextTurn();
    const reader = new EventReader(100_000);
    const bytes = new TextEncoder().encode(stream);
    const events: string[] = [];
    for (let at = 0; at < bytes.byteLength; at += size) events.push(...reader.push(bytes.subarray(at, at + size)));
    for (const data of [...events, ...reader.finish()]) live.push(atOnce(composer.take(data)));
    if (composer.failed) break;
    const turn = composer.turn.turn();
    const decision = atOnce(
      decideTurn(turn, OWNED, { turn: nth + 1, mayRun: nth < maxTurns && composer.turn.isWhole }),
    );
    if (decision.kind === "final")
      live.push(atOnce(composer.end(turn, { toolCalls: decision.toolCalls, usage: USAGE })));
    else live.push(composer.announce(decision.calls.map(({ name }) => name)));
  }
  const text = live.join("");
  const reader = new EventReader(100_000);
  const data = [...reader.push(new TextEncoder().encode(text)), ...reader.finish()];
  return data.map((one) => (one === "[DONE]" ? one : (JSON.parse(one) as JsonObject)));
}

/** The deltas with their finish reasons, of events that have a choice. */
const said = (events: readonly (JsonObject | string)[]) =>
  events.map((event) => {
    if (typeof event === "string") return event;
    const [choice] = (event["choices"] ?? []) as readonly JsonObject[];
    if (choice === undefined) return event["usage"] === undefined ? event : { usage: event["usage"] };
    return choice["finish_reason"] === null ? choice["delta"] : { finish: choice["finish_reason"] };
  });

const SEARCHES = [
  chunk(1, { role: "assistant", content: "" }),
  chunk(1, { reasoning_content: "hm" }),
  chunk(1, { content: "let me " }),
  chunk(1, { content: "see" }),
  chunk(1, calls({ index: 0, id: "a", type: "function", function: { name: "search", arguments: "" } })),
  chunk(1, calls({ index: 0, function: { arguments: '{"q":' } })),
  chunk(1, calls({ index: 0, function: { arguments: '"é😀"}' } })),
  chunk(1, {}, "tool_calls"),
  usageChunk(1),
  DONE,
].join("");
const ANSWERS = [
  chunk(2, { role: "assistant", content: "" }),
  chunk(2, { content: "found" }),
  chunk(2, {}, "stop"),
  usageChunk(2),
  DONE,
].join("");

describe("the composed stream", () => {
  it("is the same for every size of its pieces", () => {
    const expected = [
      { role: "assistant", content: "" },
      { reasoning_content: "hm" },
      { content: "let me " },
      { content: "see" },
      { reasoning_content: "[tool: search]" },
      { content: "found" },
      { finish: "stop" },
      { usage: USAGE },
      "[DONE]",
    ];
    for (let size = 1; size <= 200; size += 1)
      expect(said(play([SEARCHES, ANSWERS], { size, usageAsked: true }))).toEqual(expected);
  });

  it("has the id, time and model of the first turn, and usage only if it was asked for", () => {
    const events = play([SEARCHES, ANSWERS]);
    expect(events.at(-1)).toBe("[DONE]");
    for (const event of events.slice(0, -1)) expect(event).toMatchObject(head(1));
    expect(events.filter((event) => typeof event !== "string" && "usage" in event)).toEqual([]);
  });

  it("announces tools where the upstream writes reasoning", () => {
    const stream = SEARCHES.replaceAll("reasoning_content", "reasoning");
    expect(said(play([stream, ANSWERS]))).toContainEqual({ reasoning: "[tool: search]" });
  });

  it("passes the client's calls on with new indexes as they come, and keeps the gateway's", () => {
    const mixed = [
      chunk(1, { role: "assistant" }),
      chunk(1, calls({ index: 0, id: "a", type: "function", function: { name: "search", arguments: "{}" } })),
      chunk(1, calls({ index: 1, id: "b", type: "function", function: { name: "mi", arguments: "" } })),
      chunk(1, calls({ index: 1, function: { name: "ne" } })),
      chunk(1, calls({ index: 1, function: { arguments: "{" } })),
      chunk(
        1,
        calls({ index: 1, function: { arguments: "}" } }, { index: 2, id: "c", type: "custom", custom: { name: "x" } }),
      ),
      chunk(1, calls({ index: 3, id: "d", type: "function", function: { name: "never" } })),
      chunk(1, {}, "tool_calls"),
      DONE,
    ].join("");
    expect(said(play([mixed]))).toEqual([
      { role: "assistant" },
      calls({ index: 0, id: "b", type: "function", function: { name: "mine", arguments: "{" } }),
      calls({ index: 0, function: { arguments: "}" } }, { index: 1, id: "c", type: "custom", custom: { name: "x" } }),
      calls({ index: 2, id: "d", type: "function", function: { name: "never", arguments: "" } }),
      { finish: "tool_calls" },
      "[DONE]",
    ]);
  });

  it("ends without the calls of a turn that is no longer run", () => {
    expect(said(play([SEARCHES], { maxTurns: 0 })).slice(-2)).toEqual([{ finish: "stop" }, "[DONE]"]);
  });

  it("reads calls without an index, and names that are repeated", () => {
    const stream = [
      chunk(1, calls({ id: "a", function: { name: "search", arguments: '{"a"' } })),
      chunk(1, calls({ id: "a", function: { name: "search", arguments: ":1}" } })),
      chunk(1, calls({ id: "b", function: { name: "search", arguments: "{}" } })),
      DONE,
    ].join("");
    const composer = new StreamComposer({ owned: OWNED, usageAsked: false, turnMaxCharacters: 1000 });
    const reader = new EventReader(1000);
    for (const data of reader.push(new TextEncoder().encode(stream))) expect(atOnce(composer.take(data))).toBe("");
    expect(atOnce(decideTurn(composer.turn.turn(), OWNED, { turn: 1, mayRun: true }))).toMatchObject({
      kind: "run",
      calls: [
        { name: "search", arguments: { a: 1 } },
        { name: "search", arguments: {} },
      ],
    });
  });

  it("stops at an error event, in any turn", () => {
    const error = dataEvent('{"error":{"message":"m"}}');
    expect(play([chunk(1, { content: "a" }) + error + chunk(1, { content: "b" }) + DONE]).at(-1)).toEqual({
      error: { message: "m" },
    });
    expect(play([SEARCHES, chunk(2, { content: "a" }) + error]).at(-1)).toEqual({ error: { message: "m" } });
  });

  it("does not look complete when its upstream's does not", () => {
    expect(said(play([chunk(1, { content: "a" })]))).toEqual([{ content: "a" }]);
    expect(said(play([chunk(1, { content: "a" }) + DONE]))).toEqual([{ content: "a" }, "[DONE]"]);
    expect(said(play([chunk(1, { content: "a" }, "stop")]))).toEqual([{ content: "a" }, { finish: "stop" }, "[DONE]"]);
  });

  it("passes on what it cannot read, and what is too deep to be written again", () => {
    const deep = `{"choices":[{"delta":{"content":"x","y":${"[".repeat(50_000)}${"]".repeat(50_000)}}}]}`;
    for (const data of ["nonsense", "7", "[]", '{"object":"ping"}', deep]) {
      const composer = new StreamComposer({ owned: OWNED, usageAsked: false, turnMaxCharacters: 1000 });
      expect(atOnce(composer.take(data))).toBe(dataEvent(data));
    }
  });

  it("keeps no more of a turn than it may, and passes the rest on", () => {
    const long = "x".repeat(600);
    const stream = [
      chunk(1, { content: long }),
      chunk(1, { content: long }),
      chunk(1, calls({ index: 0, id: "a", type: "function", function: { name: "search", arguments: "{}" } })),
      chunk(1, {}, "tool_calls"),
      DONE,
    ].join("");
    expect(said(play([stream], { maxCharacters: 1000 }))).toEqual([
      { content: long },
      { content: long },
      { finish: "stop" },
      "[DONE]",
    ]);
    const mine = chunk(1, calls({ index: 1, id: "b", function: { name: "mine", arguments: "{" } }));
    const args = chunk(1, calls({ index: 1, function: { arguments: long } }));
    expect(said(play([stream.replace(DONE, "") + mine + args + DONE], { maxCharacters: 1000 })).slice(2)).toEqual([
      calls({ index: 0, id: "b", function: { name: "mine", arguments: "{" } }),
      calls({ index: 0, function: { arguments: long } }),
      { finish: "tool_calls" },
      "[DONE]",
    ]);
    const many = Array.from({ length: 300 }, (_, index) =>
      chunk(1, calls({ index, id: `i${index}`, function: { name: "search" } })),
    );
    expect(said(play([many.join("") + chunk(1, {}, "tool_calls")]))).toEqual([{ finish: "stop" }, "[DONE]"]);
  });

  it("does not collect the members of a call without end", () => {
    const many = Array.from({ length: 100 }, (_, nth) =>
      chunk(1, calls({ index: 0, function: { name: nth === 0 ? "search" : undefined }, [`k${nth}`]: 1 })),
    );
    expect(said(play([many.join("") + chunk(1, {}, "tool_calls")], { maxCharacters: 100_000 }))).toEqual([
      { finish: "stop" },
      "[DONE]",
    ]);
  });

  it("reads the first choice only", () => {
    const second = dataEvent(JSON.stringify({ ...head(1), choices: [{ index: 1, delta: { content: "b" } }] }));
    expect(said(play([second + chunk(1, { content: "a" }) + DONE]))).toEqual([{ content: "a" }, "[DONE]"]);
  });
});

describe("a long object of arguments", () => {
  it("is written in steps", () => {
    const input = { many: Array.from({ length: 5_000 }, () => "x".repeat(64)) };
    const called = { index: 0, function: { name: "other", arguments: input } };
    const data = JSON.stringify({ ...head(1), choices: [{ index: 0, delta: calls(called) }] });
    const composer = new StreamComposer({ owned: OWNED, usageAsked: false, turnMaxCharacters: 1024 * 1024 });
    const longest = watchJson();
    const { length } = atOnce(composer.take(data));
    const most = longest();
    expect({ most, isBounded: most <= AT_ONCE_MAX, isPassed: length > AT_ONCE_MAX }).toEqual({
      most,
      isBounded: true,
      isPassed: true,
    });
  });
});

/** The steps after each answer of a model (docs/rules/tool-loop.md#turns). */
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { decideTurn, exchangeOf, type FinishedTurn, finalFinishReason } from "./turn.ts";

const OWNED = new Set(["search", "fetch", "constructor"]);
const FIRST = { turn: 1, mayRun: true };

const call = (name: string, more: JsonObject = {}): JsonObject => ({
  id: `id-${name}`,
  type: "function",
  function: { name, arguments: '{"q":1}' },
  ...more,
});
const turnOf = (toolCalls: readonly JsonObject[], finishReason: unknown = "tool_calls"): FinishedTurn => ({
  message: { role: "assistant", content: null },
  toolCalls,
  finishReason,
});
const namesOf = (calls: readonly JsonObject[]) =>
  calls.map((one) => (one["function"] as JsonObject | undefined)?.["name"]);

describe("a turn", () => {
  it("without calls is the client's", () => {
    expect(atOnce(decideTurn(turnOf([], "stop"), OWNED, FIRST))).toEqual({
      kind: "final",
      toolCalls: [],
      removed: false,
    });
  });

  it("with calls of the gateway's tools is run", () => {
    expect(atOnce(decideTurn(turnOf([call("search"), call("fetch")]), OWNED, FIRST))).toMatchObject({
      kind: "run",
      calls: [
        { name: "search", arguments: { q: 1 } },
        { name: "fetch", arguments: { q: 1 } },
      ],
    });
  });

  it("is run whatever reason it gives for its end, as many upstreams give `stop`", () => {
    expect(atOnce(decideTurn(turnOf([call("search")], "stop"), OWNED, FIRST)).kind).toBe("run");
  });

  it.each([
    ["with a call of the client's tools", [call("mine"), call("search")], "tool_calls", FIRST, ["mine"], true],
    [
      "with calls of the client's tools only",
      [call("mine"), call("other")],
      "tool_calls",
      FIRST,
      ["mine", "other"],
      false,
    ],
    ["after the last turn", [call("search")], "tool_calls", { turn: 5, mayRun: false }, [], true],
    ["that was cut short", [call("search")], "length", FIRST, [], true],
    ["that was filtered", [call("search")], "content_filter", FIRST, [], true],
    [
      "with a call of something else than a function",
      [{ id: "1", type: "custom", custom: { name: "search" } }],
      "tool_calls",
      FIRST,
      [undefined],
      false,
    ],
    ["with a name of every object's prototype", [call("toString")], "tool_calls", FIRST, ["toString"], false],
  ])("%s is the client's, without the gateway's calls", (_, calls, reason, at, names, removed) => {
    const decision = atOnce(decideTurn(turnOf(calls, reason), OWNED, at));
    expect(decision).toMatchObject({ kind: "final", removed });
    expect(namesOf(decision.toolCalls)).toEqual(names);
  });

  it.each([
    ["{}", {}],
    ["", {}],
    [undefined, {}],
    [null, {}],
    [{ a: 1 }, { a: 1 }],
    ["[1]", null],
    ["{", null],
    ["1e999", null],
    [7, null],
  ])("reads the arguments %j", (written, expected) => {
    const decision = atOnce(
      decideTurn(turnOf([call("search", { function: { name: "search", arguments: written } })]), OWNED, FIRST),
    );
    expect(decision).toMatchObject({ kind: "run", calls: [{ arguments: expected }] });
    const [again] = decision.toolCalls.map((one) => (one["function"] as JsonObject)["arguments"]);
    expect(JSON.parse(String(again))).toEqual(expected ?? {});
  });

  it("gives each call its own id", () => {
    const calls = [
      call("search", { id: "" }),
      call("search", { id: "a" }),
      call("search", { id: "a" }),
      call("search", { id: 7 }),
    ];
    const { toolCalls } = atOnce(decideTurn(turnOf(calls), OWNED, { turn: 3, mayRun: true }));
    expect(toolCalls.map(({ id }) => id)).toEqual(["call_3_0", "a", "call_3_2", "call_3_3"]);
  });
});

describe("the next turn", () => {
  it("reads the message and the results", () => {
    const turn = {
      ...turnOf([call("search")]),
      message: { role: "assistant", content: "let me see", reasoning: "hm", refusal: null, audio: { id: "1" } },
    };
    const decision = atOnce(decideTurn(turn, OWNED, FIRST));
    expect(exchangeOf(turn, decision.toolCalls, ["found"])).toEqual([
      { role: "assistant", content: "let me see", reasoning: "hm", tool_calls: [call("search")] },
      { role: "tool", tool_call_id: "id-search", content: "found" },
    ]);
  });
});

describe("the finish reason", () => {
  it.each([
    ["tool_calls", [call("search")], [], "stop"],
    ["tool_calls", [call("mine"), call("search")], [call("mine")], "tool_calls"],
    ["tool_calls", [], [], "tool_calls"],
    ["length", [call("search")], [], "length"],
    ["stop", [], [], "stop"],
  ])("%s with calls %j, %j for the client, is %s", (reason, calls, toolCalls, expected) => {
    expect(finalFinishReason(turnOf(calls, reason), { toolCalls })).toBe(expected);
  });
});

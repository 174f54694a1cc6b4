/** Streams of chat completions that are made to be much work, or to be kept (docs/rules/dialects.md#streams). */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { atOnce, type Steps } from "../../../shared/steps.ts";
import { AT_ONCE_MAX, watchJson } from "../../../test/harness/edge/work-at-once.ts";
import type { JsonObject } from "../wire/json/document.ts";
import type { StreamTranslation } from "./contract.ts";
import { responsesAnswer } from "./responses/answer.ts";
import { reportOf } from "./to-messages/answer.ts";
import { translationOf } from "./translation.ts";
import { objectOf } from "./values.ts";

const RESPONSES = "/v1/responses";
const PATHS = [RESPONSES, "/v1/messages"];
const BLOCKS = 5_000;
const ITEMS_MAX = 512;

function streamOf(path: string, format: "openai" | "anthropic" = "openai"): StreamTranslation {
  const translation = translationOf(path, format, { createdSecs: 1, usageAsked: true });
  if (translation === null) throw new Error("no translation");
  return translation.stream();
}

const take = (stream: StreamTranslation, chunk: object): string => atOnce(stream.event(null, JSON.stringify(chunk)));

const dataOf = (text: string) =>
  text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice("data: ".length)) as JsonObject);

/** How often others have their turn. */
function turnsOf(steps: Steps<unknown>): number {
  let turns = 0;
  try {
    while (steps.next().done !== true) turns += 1;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
  return turns;
}

describe("very many blocks of thinking in one event", () => {
  const unsigned = Array.from({ length: BLOCKS }, () => ({ type: "thinking", thinking: "", signature: "" }));
  const signed = unsigned.map((block) => ({ ...block, signature: "S" }));
  const streamTurns = (member: string, blocks: readonly object[]): number => {
    const chunk = { id: "c", choices: [{ index: 0, delta: { [member]: blocks } }] };
    return turnsOf(streamOf(RESPONSES).event(null, JSON.stringify(chunk)));
  };
  const answerTurns = (member: string, blocks: readonly object[]): number => {
    const asked = { settings: {}, clientTools: new Map(), createdSecs: 1 };
    return turnsOf(responsesAnswer({ id: "c", choices: [{ index: 0, message: { [member]: blocks } }] }, asked));
  };

  it.each([
    ["a stream", streamTurns],
    ["an answer", answerTurns],
  ])("of %s are taken in turns, and no further than is kept", (_, turns) => {
    const ofBlocks = (blocks: readonly object[]): number => turns("thinking_blocks", blocks) - turns("other", blocks);
    const stopped = ofBlocks(signed);
    expect({ all: ofBlocks(unsigned) >= BLOCKS, isStopped: stopped > ITEMS_MAX && stopped < 2 * ITEMS_MAX }).toEqual({
      all: true,
      isStopped: true,
    });
  });
});

describe("very many pieces of one call in one chunk", () => {
  const PIECES = 2_000;

  it.each([
    ["of one call", () => ({}), 1],
    ["of two calls in turns", (at: number) => ({ index: at % 2 }), 2],
  ])("%s become one event for each call, with a short id", (_, indexOf, calls) => {
    const stream = streamOf(RESPONSES);
    const pieces = Array.from({ length: PIECES }, (__, at) => ({ ...indexOf(at), function: { arguments: "x" } }));
    const chunk = { id: "c".repeat(256), model: "m", choices: [{ index: 0, delta: { tool_calls: pieces } }] };
    const text = take(stream, chunk);
    const deltas = dataOf(text).filter(({ type }) => type === "response.function_call_arguments.delta");
    expect(deltas.map(({ delta }) => String(delta).length)).toEqual(
      Array.from({ length: calls }, () => PIECES / calls),
    );
    expect(Math.max(...deltas.map(({ item_id: id }) => String(id).length))).toBeLessThan(80);
  });
});

describe("the head of a stream", () => {
  it.each(PATHS)("is that of its first chunk with an id, as Azure tells of the prompt first: %s", (path) => {
    const stream = streamOf(path);
    const before = take(stream, { id: "", model: "", choices: [], prompt_filter_results: [{ prompt_index: 0 }] });
    const [first] = dataOf(take(stream, { id: "c", model: "gpt", choices: [{ index: 0, delta: { content: "a" } }] }));
    const { id, model } = objectOf(first?.["response"] ?? first?.["message"]);
    expect({ before, id, model }).toEqual({ before: "", id: path === RESPONSES ? "resp_c" : "c", model: "gpt" });
  });

  it.each(PATHS)("is that of its first chunk with a choice if none has an id: %s", (path) => {
    const stream = streamOf(path);
    expect(take(stream, { choices: [{ index: 0, delta: { content: "a" } }] })).not.toBe("");
    expect(atOnce(stream.event(null, "[DONE]"))).toContain(path === RESPONSES ? "response.completed" : "message_stop");
  });
});

it("what is kept of a report is its counts", () => {
  const long = "x".repeat(10_000);
  const details = { cached_tokens: 3, cache_write_tokens: 2, other: long };
  const usage = { prompt_tokens: 9, completion_tokens: 5, prompt_tokens_details: details, other: [long] };
  expect(reportOf({ usage: { ...usage, completion_tokens_details: { reasoning_tokens: long } } })).toEqual({
    usage: {
      prompt_tokens: 9,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: undefined },
    },
  });
  expect(reportOf({ usage: long, service_tier: long })).toEqual({});
});

describe("a long event", () => {
  const MANY = Array.from({ length: 5_000 }, () => "x".repeat(64));
  const content = MANY.map((text) => ({ type: "text", text }));
  const chunk = { id: "c", choices: [{ index: 0, delta: { content } }] };
  const tool = { type: "tool_use", id: "t", name: "f", input: { MANY } };

  it.each([
    ["to the Responses API", RESPONSES, "openai", [chunk]],
    ["to messages", "/v1/messages", "openai", [chunk]],
    [
      "to chat",
      "/v1/chat/completions",
      "anthropic",
      [
        { type: "message_start", message: { id: "m" } },
        { type: "content_block_start", content_block: tool },
        { type: "content_block_stop" },
      ],
    ],
  ] as const)("is written in steps: %s", (_, path, format, events) => {
    const stream = streamOf(path, format);
    const texts = events.map((event) => JSON.stringify(event));
    const longest = watchJson();
    const written = texts.map((text) => atOnce(stream.event(null, text))).join("");
    const most = longest();
    expect({ most, isBounded: most <= AT_ONCE_MAX }).toEqual({ most, isBounded: true });
    expect(dataOf(written).some((event) => JSON.stringify(event).length > AT_ONCE_MAX)).toBe(true);
  });
});

import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { isWholeAnswer } from "./whole-answer.ts";

const JSON_TYPE = "application/json";
const isWhole = (text: string, type: string): boolean =>
  atOnce(isWholeAnswer(new TextEncoder().encode(text), type, type === "text/event-stream"));

describe("a document", () => {
  it.each([
    ['{"choices":[{"message":{"content":"hello"}}]}', JSON_TYPE],
    [' {"output":[],"data":[{"embedding":[1]}]} ', JSON_TYPE],
    ['{"input_tokens":5}', JSON_TYPE],
    ["[[0.1,0.2]]", JSON_TYPE],
    ["spoken words", "text/plain"],
    ["ID3\u0004", "audio/mpeg"],
  ])("that is whole and contains something may be given again: %s", (text, type) => {
    expect(isWhole(text, type)).toBe(true);
  });

  it.each([
    ['{"choices":[{"message":{"content":"abc"', JSON_TYPE],
    ['{"choices":[{"message":{"content":"abc"', "text/plain"],
    ['{"id"', "audio/mpeg"],
    ['{"choices":[1]}{"choices":[1]}', JSON_TYPE],
    ["{}", JSON_TYPE],
    ["[]", JSON_TYPE],
    ["null", JSON_TYPE],
    ['"hello"', JSON_TYPE],
    ['{"id":"a","choices":[]}', "application/vnd.a+json; charset=utf-8"],
    ["hello", JSON_TYPE],
    ["", "text/plain"],
    [" \n", "audio/mpeg"],
  ])("that is cut or contains nothing may not: %s", (text, type) => {
    expect(isWhole(text, type)).toBe(false);
  });
});

describe("a stream", () => {
  const EVENT = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
  const DONE = "data: [DONE]\n\n";

  it.each([
    EVENT + DONE,
    `data: {"choices":[]}\n\n${EVENT}${DONE}`,
    'data: {"type":"response.completed","response":{}}\n\n',
  ])("with a result and its end may be given again: %j", (text) => {
    expect(isWhole(text, "text/event-stream")).toBe(true);
  });

  it.each([DONE, EVENT, `data: {}\n\n${DONE}`, `: ping\n\n${DONE}`, `data: {"choices":[{\n\n${DONE}`, ""])(
    "without one of them may not: %j",
    (text) => {
      expect(isWhole(text, "text/event-stream")).toBe(false);
    },
  );
});

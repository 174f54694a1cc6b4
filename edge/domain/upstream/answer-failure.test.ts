import { describe, expect, it } from "vitest";
import { classifyDocument, classifyEvents } from "./answer-failure.ts";

const overloaded = '{"error":{"message":"overloaded","code":503}}';
const failure = (status: number, text: string) => ({ status, text });

describe("a whole document", () => {
  it.each<[string, number]>([
    [overloaded, 503],
    ['{"id":"a","choices":[],"error":{"message":"busy","code":"429"}}', 429],
    ['{"object":"response","status":"failed","output":[],"tools":[{}],"error":{"code":"server_error"}}', 502],
    ['{"error":{"message":"no","code":"gone","status":410}}', 410],
    ['{"error":{"message":"no","code":200}}', 502],
    ['{"error":"out of memory"}', 502],
  ])("%s is a failure of status %i", (text, status) => {
    expect(classifyDocument(text, true)).toEqual(failure(status, text));
  });

  it.each([
    '{"choices":[{"message":{"content":"hello"}}],"error":{"code":503}}',
    '{"object":"response","output":[{"type":"message"}],"error":null}',
    '{"error":null}',
    '{"error":""}',
    '{"text":"what an \\"error\\" is"}',
    '[{"error":{"code":503}}]',
    '{"error":{"code":503}',
    "error",
  ])("%s is an answer", (text) => {
    expect(classifyDocument(text, true)).toBe("passes");
  });
});

describe("the beginning of a document", () => {
  it.each(["{", ' {\n "err', '{"error"', '{"error":{"message":"ove'])("%j may become an error", (text) => {
    expect(classifyDocument(text, false)).toBe("unclear");
  });

  it.each(['{"id":"a', '{"errors":', "  \n", "[", "hello"])("%j passes at once", (text) => {
    expect(classifyDocument(text, false)).toBe("passes");
  });

  it("is classified when nothing of it is missing", () => {
    expect(classifyDocument(overloaded, false)).toEqual(failure(503, overloaded));
  });
});

describe("a stream", () => {
  it.each([
    `data: ${overloaded}\n\n`,
    `data:${overloaded}\r\n\r\ndata: [DONE]\r\n\r\n`,
    `event: error\rdata: ${overloaded}\r\r`,
    `: waiting\n\ndata: ${overloaded}\n\n`,
    `retry: 1000\n\ndata: ${overloaded}\n\n`,
    `data: {"error":\ndata: {"message":"overloaded","code":503}}\n\n`,
  ])("whose first event is an error fails: %j", (text) => {
    expect(classifyEvents(text, false)).toMatchObject({ status: 503, text: expect.stringContaining("overloaded") });
  });

  it.each<[string, number, object]>([
    ['event: error\ndata: {"message":"x"}\n\n', 502, { message: "x" }],
    ['data: {"code":429,"message":"x"}\r\nevent:error\r\n\r\n', 429, { code: 429, message: "x" }],
    ["event: error\ndata: overloaded\n\n", 502, { message: "overloaded" }],
  ])("whose first event has the name of an error fails: %j", (text, status, error) => {
    expect(classifyEvents(text, false)).toEqual(failure(status, JSON.stringify({ error })));
  });

  it.each([
    'event: errors\ndata: {"message":"x"}\n\n',
    `data: {"choices":[{"delta":{"content":"an \\"error\\""}}]}\n\n`,
    `data: {"choices":[]}\n\ndata: ${overloaded}\n\n`,
    ": waiting\n\n",
    "data: [DONE]\n\n",
    "data: what\n\ndata: ",
  ])("that begins otherwise passes: %j", (text) => {
    expect(classifyEvents(text, false)).toBe("passes");
  });

  it("needs its first event whole, or its end", () => {
    const begun = `data: ${overloaded}\n`;
    expect({ begun: classifyEvents(begun, false), ended: classifyEvents(begun, true) }).toEqual({
      begun: "unclear",
      ended: failure(503, ` ${overloaded}`),
    });
    expect(classifyEvents(": waiting\n\ndata: {", false)).toBe("unclear");
  });
});

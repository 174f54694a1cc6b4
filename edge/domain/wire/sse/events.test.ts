import { describe, expect, it } from "vitest";
import { errorBody } from "../../../../shared/errors.ts";
import { errorDocument, errorEvent, usageEventOf } from "./events.ts";

const encoder = new TextEncoder();
const usage = 'data: {"choices":[],"usage":{"prompt_tokens":1}}';

describe("the usage event", () => {
  it.each([
    [usage, true],
    ['data:{"choices":[],"usage":{}}', true],
    ['data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":1}}', false],
    ['data: {"choices":[],"usage":null}', false],
    ['data: {"usage":{"prompt_tokens":1}}', false],
    ['data: {"choices":[],\ndata: "usage":{}}', true],
    ['data: {"choices":[],\r\ndata: "usage":{}}\r\n', true],
    [`event: message\nid: 1\n${usage}`, true],
    ['event: {"choices":[],"usage":{}}', false],
    ['data: {"choices":[],"usage":{', false],
    ["data: [DONE]", false],
    ['data: "usage"', false],
  ])("%j: %s", (text, expected) => {
    expect(usageEventOf(encoder.encode(`${text}\n\n`)) !== null).toBe(expected);
  });
});

describe("the in-band error", () => {
  const body = errorBody("api_key_disabled");
  const shown = (path: string) => new TextDecoder().decode(errorEvent(body, path, "\n\n"));

  it("is the error body on routes without named events", () => {
    expect(shown("/v1/chat/completions")).toBe(`\n\ndata: ${JSON.stringify(body)}\n\n`);
  });

  it.each(["/v1/messages", "/v1/responses"])("is an event `error` with its fields also at the top on %s", (path) => {
    const [, event, data] = /^\n\nevent: (\w+)\ndata: (.+)\n\n$/.exec(shown(path)) ?? [];
    const { error } = body;
    expect({ event, data: JSON.parse(data ?? "") }).toEqual({
      event: "error",
      data: { ...error, type: "error", error },
    });
  });
});

describe("the document of a refusal", () => {
  const body = errorBody("api_key_disabled");

  it.each(["/v1/messages", "/v1/messages/count_tokens", "/messages"])("has a type on %s", (path) => {
    expect(errorDocument(body, path)).toEqual({ type: "error", ...body });
  });

  it.each(["/v1/chat/completions", "/v1/mymessages", "/mcp/messages-of"])("is the error body on %s", (path) => {
    expect(errorDocument(body, path)).toBe(body);
  });
});

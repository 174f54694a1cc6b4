import { describe, expect, it } from "vitest";
import { usageEventOf } from "./events.ts";

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

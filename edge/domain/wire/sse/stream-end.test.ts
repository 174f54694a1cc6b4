import { describe, expect, it } from "vitest";
import { isCompleteStream } from "./stream-end.ts";

describe("an event stream", () => {
  it.each([
    ['data: {"a":1}\n\ndata: [DONE]\n\n', true],
    ["data:[DONE]\r\n\r\n", true],
    ["data: [DONE]\n\n\n", true],
    ['event: response.completed\ndata: {"type":"response.completed","text":"a\\n\\nb"}\n\n', true],
    ['data: {"type":"response.completed"}\n\n', true],
    ['event: message_stop\ndata: {"type":"message_stop"}\n\n', true],
    ["data: [DONE]\n", true],
    ['data: [DONE]\n\ndata: {"more":1}\n\n', false],
    ['event: response.failed\ndata: {"type":"response.failed"}\n\n', false],
    ['data: {"text":"data: [DONE]"}\n\n', false],
    ['data: {"error":{"code":"upstream_stream_error"}}\n\n', false],
    ["event: message_stop\ndata: {", false],
    ["", false],
  ])("%j is whole: %s", (text, whole) => {
    expect(isCompleteStream(new TextEncoder().encode(text))).toBe(whole);
  });
});

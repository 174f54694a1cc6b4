import { expect, it } from "vitest";
import { isContextTooLong } from "./fallback.ts";

it.each([
  ["OpenAI", { error: { message: "...", type: "invalid_request_error", code: "context_length_exceeded" } }],
  ["vLLM", { error: { message: "This model's maximum context length is 10 tokens.", code: 400 } }],
  ["an older vLLM", { object: "error", message: "This model's maximum context length is 10 tokens.", code: 400 }],
  ["SGLang", { message: "The input (12 tokens) is longer than the model's context length (10 tokens)." }],
  ["llama.cpp", { error: { code: 400, message: "...", type: "exceed_context_size_error", n_ctx: 10 } }],
  ["Anthropic", { type: "error", error: { type: "invalid_request_error", message: "prompt is too long: 12 tokens" } }],
])("a request that is too long is known by the words of %s", (_, document) => {
  expect(isContextTooLong(document)).toBe(true);
});

it.each([
  ["another error", { error: { message: "no such field", code: null } }],
  ["words elsewhere", { error: { message: "no" }, input: "context_length_exceeded" }],
  ["no document", undefined],
  ["a text", "context_length_exceeded"],
  ["nothing", { error: null }],
])("%s does not count", (_, document) => {
  expect(isContextTooLong(document)).toBe(false);
});

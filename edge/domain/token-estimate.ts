/**
 * The estimate of a request's tokens before it runs (decisions §18): what the scheduler charges and budgets reserve. Made
 * from the client's own body. It never reads more than it needs and never fails: what is not text counts nothing.
 */
import type { JsonDocument, JsonObject } from "./json-document.ts";

/** All in tokens. */
export interface TokenEstimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** max(input + output, 1). */
  readonly totalTokens: number;
  /** The output that a client states, uncut; what a term budget reserves (decisions §19.2). */
  readonly statedOutputTokens: number | null;
}

const OUTPUT_MAX = 8192;
const OUTPUT_MIN = 512;
const TOKENS_PER_MESSAGE = 4;

/** Estimate of a chat completion. */
export function estimateChat(document: JsonDocument): TokenEstimate {
  const messages = document.root["messages"];
  const input = Array.isArray(messages)
    ? messages.reduce((sum: number, message) => sum + messageTokens(document, message), 0)
    : 0;
  return withOutput(document.root, input);
}

/** 0 for nothing, else a quarter of the code points, at least 1. */
export function textTokens(codePoints: number): number {
  return codePoints === 0 ? 0 : Math.max(Math.floor(codePoints / 4), 1);
}

function messageTokens(document: JsonDocument, message: unknown): number {
  const content = isObject(message) ? message["content"] : undefined;
  return contentTokens(document, content) + TOKENS_PER_MESSAGE;
}

function contentTokens(document: JsonDocument, content: unknown): number {
  if (typeof content === "string") return textTokens(document.codePoints(content));
  if (!Array.isArray(content)) return 0;
  return content.reduce((sum: number, part) => {
    const text = isObject(part) ? part["text"] : undefined;
    return typeof text === "string" ? sum + textTokens(document.codePoints(text)) : sum;
  }, 0);
}

function withOutput(root: JsonObject, inputTokens: number): TokenEstimate {
  const stated = [root["max_tokens"], root["max_completion_tokens"], root["max_output_tokens"]].find(
    (value) => value !== undefined && value !== null,
  );
  const given = typeof stated === "number" && stated >= 0 && Number.isFinite(stated) ? Math.floor(stated) : null;
  const outputTokens =
    given === null ? Math.min(Math.max(inputTokens, OUTPUT_MIN), OUTPUT_MAX) : Math.min(given, OUTPUT_MAX);
  return { inputTokens, outputTokens, totalTokens: Math.max(inputTokens + outputTokens, 1), statedOutputTokens: given };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The estimate of a request's tokens before it runs (docs/rules/token-estimates.md#formulas), which the scheduler
 * charges and budgets reserve. It is made from the client's own body. It reads no more than it needs and never fails:
 * values that are not text count nothing, and every number that it returns is an amount (shared/money/amount.ts), whatever
 * the body contains.
 */
import { saturated } from "../../../shared/money/amount.ts";
import type { Measure } from "../../../shared/money/cost.ts";
import { isJsonObject, type JsonDocument, type JsonObject } from "../wire/json/document.ts";
import { TOKEN_LIMITS } from "./client-fields.ts";
import type { BilledBy, EstimateRule } from "./route-class.ts";

/** All in tokens, safe integers of at least 0. */
export interface TokenEstimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** max(input + output, 1). */
  readonly totalTokens: number;
  /**
   * The largest output that a client states, not reduced; a term budget reserves it
   * (docs/rules/token-estimates.md#client-limits).
   */
  readonly statedOutputTokens: number | null;
}

const OUTPUT_MAX = 8192;
const OUTPUT_MIN = 512;
const TOKENS_PER_MESSAGE = 4;
/** Where routes that only judge texts have them: rerank, score, classify, pooling, moderations. */
const TEXT_FIELDS = ["input", "prompt", "query", "queries", "documents", "text_1", "text_2"];

/** The estimate of a body by the rule of its route. */
export function estimateTokens(rule: EstimateRule, document: JsonDocument): TokenEstimate {
  const { root } = document;
  switch (rule) {
    case "messages":
      return withOutput(root, messagesTokens(document, root["messages"]));
    case "prompt":
      return withOutput(root, promptTokens(document, root["prompt"]));
    case "responses":
      return withOutput(root, promptTokens(document, root["instructions"]) + itemsTokens(document, root["input"]));
    case "any":
      return withOutput(
        root,
        Array.isArray(root["messages"])
          ? messagesTokens(document, root["messages"])
          : promptTokens(document, root["prompt"]),
      );
    case "input":
      return inputOnly(promptTokens(document, root["input"]));
    case "texts":
      return inputOnly(
        TEXT_FIELDS.reduce(
          (sum, name) => sum + promptTokens(document, root[name]),
          messagesTokens(document, root["messages"]),
        ),
      );
    case "speech":
      return inputOnly(typeof root["input"] === "string" ? promptTokens(document, root["input"]) : 0);
    case "nothing":
      return inputOnly(0);
    default:
      return rule satisfies never;
  }
}

/**
 * What the route is billed by, counted in its body (docs/rules/settlement-and-rows.md#cost). The fields of a form are
 * texts.
 */
export function measureOf(billedBy: BilledBy, document: JsonDocument): Measure {
  switch (billedBy) {
    case "tokens":
    case "input-tokens":
    case "seconds":
      return { kind: billedBy };
    case "nothing":
      return { kind: "free" };
    case "images": {
      const n = document.root["n"];
      const count = typeof n === "number" || typeof n === "string" ? saturated(Number(n)) : 1;
      return { kind: "images", count: Math.max(count, 1) };
    }
    case "characters": {
      const input = document.root["input"];
      return { kind: "characters", count: typeof input === "string" ? document.codePoints(input) : 0 };
    }
    default:
      return billedBy satisfies never;
  }
}

/** 0 for no text, else a quarter of the code points, at least 1. */
export function textTokens(codePoints: number): number {
  return codePoints === 0 ? 0 : Math.max(Math.floor(codePoints / 4), 1);
}

function messagesTokens(document: JsonDocument, messages: unknown): number {
  return Array.isArray(messages)
    ? messages.reduce(
        (sum: number, message) =>
          sum + contentTokens(document, isJsonObject(message) ? message["content"] : undefined) + TOKENS_PER_MESSAGE,
        0,
      )
    : 0;
}

/** The tokens of a text, a list of texts or of objects with a text, or a list of token ids, which count one each. */
function promptTokens(document: JsonDocument, prompt: unknown): number {
  if (typeof prompt === "string") return textTokens(document.codePoints(prompt));
  if (!Array.isArray(prompt)) return 0;
  return prompt.reduce((sum: number, entry) => sum + entryTokens(document, entry), 0);
}

function entryTokens(document: JsonDocument, entry: unknown): number {
  if (typeof entry === "string") return textTokens(document.codePoints(entry));
  if (typeof entry === "number") return 1;
  if (isJsonObject(entry))
    return typeof entry["text"] === "string" ? textTokens(document.codePoints(entry["text"])) : 0;
  return Array.isArray(entry) ? entry.length : 0;
}

/** The tokens of the input of the responses route: a text, or items, of which a message counts four more than its text. */
function itemsTokens(document: JsonDocument, input: unknown): number {
  if (!Array.isArray(input)) return promptTokens(document, input);
  return input.reduce((sum: number, item) => {
    if (!isJsonObject(item)) return sum;
    const message = item["type"] === "message" || (item["type"] === undefined && item["role"] !== undefined);
    return sum + contentTokens(document, item["content"]) + (message ? TOKENS_PER_MESSAGE : 0);
  }, 0);
}

function contentTokens(document: JsonDocument, content: unknown): number {
  if (typeof content === "string") return textTokens(document.codePoints(content));
  if (!Array.isArray(content)) return 0;
  return content.reduce((sum: number, part) => {
    const text = isJsonObject(part) ? part["text"] : undefined;
    return typeof text === "string" ? sum + textTokens(document.codePoints(text)) : sum;
  }, 0);
}

function inputOnly(inputTokens: number): TokenEstimate {
  return estimateOf(inputTokens, 0, null);
}

function withOutput(root: JsonObject, inputTokens: number): TokenEstimate {
  const stated = statedLimit(root);
  const outputTokens =
    stated === null ? Math.min(Math.max(inputTokens, OUTPUT_MIN), OUTPUT_MAX) : Math.min(stated, OUTPUT_MAX);
  return estimateOf(inputTokens, outputTokens, stated);
}

function estimateOf(inputTokens: number, outputTokens: number, statedOutputTokens: number | null): TokenEstimate {
  const totalTokens = Math.max(saturated(inputTokens + outputTokens), 1);
  return { inputTokens: saturated(inputTokens), outputTokens, totalTokens, statedOutputTokens };
}

/** The largest of the limits that are numbers of at least 0; null without one. */
function statedLimit(root: JsonObject): number | null {
  let largest: number | null = null;
  for (const name of TOKEN_LIMITS) {
    const limit = root[name];
    if (typeof limit === "number" && limit >= 0) largest = Math.max(largest ?? 0, saturated(limit));
  }
  return largest;
}

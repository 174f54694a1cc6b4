/**
 * The estimate of a request's tokens before it runs (docs/rules/token-estimates.md#formulas), which the scheduler
 * charges and budgets reserve. It is made from the client's own body. It reads no more than it needs and never fails:
 * values that are not text count nothing, and every number that it returns is an amount (shared/money/amount.ts), whatever
 * the body contains.
 */
import { saturated } from "../../../shared/money/amount.ts";
import type { Measure } from "../../../shared/money/cost.ts";
import type { Steps } from "../../../shared/steps.ts";
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
/** Work for an entry of a list, and for characters, in units. */
const ENTRY_UNITS = 1;
const MESSAGE_UNITS = 16;
const CHARACTERS_PER_UNIT = 8;
const STEP_UNITS = 1024;
/** Where routes that only judge texts have them: rerank, score, classify, pooling, moderations. */
const TEXT_FIELDS = ["input", "prompt", "query", "queries", "documents", "text_1", "text_2"];

/** The estimate of a body by the rule of its route. */
export function* estimateTokens(rule: EstimateRule, document: JsonDocument): Steps<TokenEstimate> {
  const { root } = document;
  const messages = (): Steps<number> => messagesTokens(document, root["messages"]);
  const prompt = (name: string): Steps<number> => promptTokens(document, root[name]);
  switch (rule) {
    case "messages":
      return withOutput(root, yield* messages());
    case "prompt":
      return withOutput(root, yield* prompt("prompt"));
    case "responses":
      return withOutput(root, (yield* prompt("instructions")) + (yield* itemsTokens(document, root["input"])));
    case "any":
      return withOutput(root, yield* Array.isArray(root["messages"]) ? messages() : prompt("prompt"));
    case "input":
      return inputOnly(yield* prompt("input"));
    case "texts": {
      let tokens = yield* messages();
      for (const name of TEXT_FIELDS) tokens += yield* prompt(name);
      return inputOnly(tokens);
    }
    case "speech":
      return inputOnly(typeof root["input"] === "string" ? yield* prompt("input") : 0);
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

function* messagesTokens(document: JsonDocument, messages: unknown): Steps<number> {
  let [tokens, units] = [0, 0];
  for (const message of listOf(messages)) {
    tokens += TOKENS_PER_MESSAGE;
    units += MESSAGE_UNITS;
    if (isJsonObject(message)) tokens += yield* contentTokens(document, message["content"]);
    if (units < STEP_UNITS) continue;
    yield units;
    units = 0;
  }
  return tokens;
}

/** The tokens of a text, a list of texts or of objects with a text, or a list of token ids, which count one each. */
function promptTokens(document: JsonDocument, prompt: unknown): Steps<number> {
  return tokensOf(document, typeof prompt === "string" ? [prompt] : listOf(prompt), (entry) => {
    if (typeof entry === "string") return entry;
    if (typeof entry === "number") return 1;
    return Array.isArray(entry) ? entry.length : textOf(entry);
  });
}

/** The tokens of the input of the responses route: a text, or items, of which a message counts four more than its text. */
function* itemsTokens(document: JsonDocument, input: unknown): Steps<number> {
  if (!Array.isArray(input)) return yield* promptTokens(document, input);
  let [tokens, units] = [0, 0];
  for (const item of input as unknown[]) {
    units += MESSAGE_UNITS;
    if (units >= STEP_UNITS) {
      yield units;
      units = 0;
    }
    if (!isJsonObject(item)) continue;
    const message = item["type"] === "message" || (item["type"] === undefined && item["role"] !== undefined);
    tokens += (yield* contentTokens(document, item["content"])) + (message ? TOKENS_PER_MESSAGE : 0);
  }
  return tokens;
}

function contentTokens(document: JsonDocument, content: unknown): Steps<number> {
  const isText = typeof content === "string";
  return tokensOf(document, isText ? [content] : listOf(content), isText ? () => content : textOf);
}

/** The tokens of entries, each of which is a text or counts tokens. */
function* tokensOf(
  document: JsonDocument,
  entries: readonly unknown[],
  countedOf: (entry: unknown) => string | number,
): Steps<number> {
  let [tokens, units] = [0, ENTRY_UNITS];
  for (const entry of entries) {
    const counted = countedOf(entry);
    tokens += typeof counted === "string" ? textTokens(document.codePoints(counted)) : counted;
    units += ENTRY_UNITS + (typeof counted === "string" ? counted.length / CHARACTERS_PER_UNIT : 0);
    if (units < STEP_UNITS) continue;
    yield units;
    units = 0;
  }
  yield units;
  return tokens;
}

/** The text of an object that has one. */
function textOf(part: unknown): string | number {
  const text = isJsonObject(part) ? part["text"] : undefined;
  return typeof text === "string" ? text : 0;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
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

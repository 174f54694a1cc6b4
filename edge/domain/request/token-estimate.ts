/**
 * The estimate of a request's tokens before it runs (docs/rules/token-estimates.md#formulas), which the scheduler
 * charges and budgets reserve. It is made from the client's own body: every text that a model can read counts, wherever a
 * server takes it. It never fails, and every number that it returns is an amount (shared/money/amount.ts), whatever
 * the body contains.
 */
import { saturated } from "../../../shared/money/amount.ts";
import type { Measure } from "../../../shared/money/cost.ts";
import type { Steps } from "../../../shared/steps.ts";
import { isJsonObject, type JsonDocument, type JsonObject } from "../wire/json/document.ts";
import type { BilledBy, EstimateRule, RouteClass } from "./route-class.ts";
import { type StatedOutput, statedOutput } from "./stated-output.ts";

/** All in tokens, safe integers of at least 0. */
export interface TokenEstimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** max(input + output, 1). */
  readonly totalTokens: number;
  /** The largest output of one answer that a client states, not reduced. */
  readonly statedOutputTokens: number | null;
  /** It is not the route's own limit; it only raises what is reserved. */
  readonly isOpen?: boolean | undefined;
  /** How many answers the client asks for. */
  readonly answers: number;
}

const OUTPUT_MAX = 8192;
const OUTPUT_MIN = 512;
const RESERVED_MAX = 2_147_483_647;
const TOKENS_PER_MESSAGE = 4;
/** Work for an entry of a list or an object, and for characters, in units. */
const ENTRY_UNITS = 10;
const CHARACTERS_PER_UNIT = 8;
const STEP_UNITS = 1024;

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** Members of a body that its model does not read: who asks, how the answer is made, and data that is not text. */
const UNREAD = setOf(
  "model user metadata id request_id rid session_id safety_identifier prompt_cache_key prompt_cache_retention cache_salt previous_response_id conversation container service_tier encoding_format truncation include modalities audio voice stop stop_token_ids logit_bias tool_choice function_call reasoning reasoning_effort thinking stream_options image images image_data audio_data video_data multi_modal_data prompt_embeds input_embeds",
);
/** Members of a body that have messages, or parts of them, and settings: the names in them are not read. */
const SPOKEN = setOf("messages input inputs contents prompt system sampling_params parameters options");
/** Members of these whose model reads all that they contain, as JSON. */
const WRITTEN_OUT = setOf("tool_calls function_call arguments input args action");
/** Members of parts that are media. */
const MEDIA = setOf(
  "url image_url file_url audio_url video_url image images audio video data file_data signature multimodal_data",
);
/** Short members of messages and parts that say what these are. */
const LABELS = setOf(
  "role type id tool_call_id tool_use_id call_id file_id status detail format media_type mime_type ttl",
);
const LABEL_MAX = 64;

/** The estimate of a body by the rule of its route; only `limits` lower its output. */
export function* estimateTokens(
  rule: EstimateRule,
  document: JsonDocument,
  limits?: RouteClass["limits"],
): Steps<TokenEstimate> {
  switch (rule) {
    case "messages":
    case "prompt":
    case "responses":
    case "any":
      return withOutput(yield* textsTokens(document, rule), yield* statedOutput(document.root, limits));
    case "input":
    case "texts":
      return inputOnly(yield* textsTokens(document, rule));
    case "speech":
      return inputOnly(textTokens(inputPoints(document)));
    case "nothing":
      return inputOnly(0);
    default:
      return rule satisfies never;
  }
}

/**
 * The billed amount of the route, counted in its body (docs/rules/settlement-and-rows.md#cost); `images`: the requested number.
 */
export function measureOf(billedBy: BilledBy, document: JsonDocument, images = 1): Measure {
  switch (billedBy) {
    case "tokens":
    case "input-tokens":
    case "seconds":
      return { kind: billedBy };
    case "nothing":
      return { kind: "free" };
    case "images":
      return { kind: billedBy, count: images };
    case "characters":
      return { kind: billedBy, count: inputPoints(document) };
    default:
      return billedBy satisfies never;
  }
}

/** The code points of `input`; 0 if it is no text. */
function inputPoints(document: JsonDocument): number {
  const { input } = document.root;
  return typeof input === "string" ? document.codePoints(input) : 0;
}

/** 0 for no text, else a quarter of the code points, at least 1. */
export function textTokens(codePoints: number): number {
  return codePoints === 0 ? 0 : Math.max(Math.floor(codePoints / 4), 1);
}

/** An object or a list under way. */
interface Level {
  readonly of: JsonObject | readonly unknown[];
  /** The names of an object's members; null: a list. */
  readonly names: readonly string[] | null;
  /** The member that it is, or that the list is which it is in. */
  readonly name: string;
  /** It is read as JSON, with its names; else it has messages, or parts of them. */
  readonly isJson: boolean;
  next: number;
}

function levelOf(of: object, name: string, isJson: boolean): Level {
  const names = Array.isArray(of) ? null : Object.keys(of);
  return { of: of as JsonObject | readonly unknown[], names, name, isJson, next: 0 };
}

/** The tokens of all texts of a body that its model can read. */
function* textsTokens(document: JsonDocument, rule: EstimateRule): Steps<number> {
  const levels = [levelOf(document.root, "", false)];
  let [tokens, units] = [0, ENTRY_UNITS];
  const count = (text: string): void => {
    tokens += textTokens(document.codePoints(text));
    units += text.length / CHARACTERS_PER_UNIT;
  };
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    units += ENTRY_UNITS;
    if (units >= STEP_UNITS) {
      yield units;
      units = 0;
    }
    const { of, names } = level;
    const key = names === null ? level.next : names[level.next];
    if (key === undefined || (names === null && level.next >= (of as readonly unknown[]).length)) {
      levels.pop();
      continue;
    }
    level.next += 1;
    const value = (of as JsonObject)[key];
    const name = typeof key === "string" ? key : level.name;
    const isMember = levels.length === 1;
    if (isMember && UNREAD.has(name)) continue;
    if (levels.length === 2 && names === null && isMessage(rule, name, value)) tokens += TOKENS_PER_MESSAGE;
    if (level.isJson && names !== null) count(name);
    if (typeof value === "string") {
      if (level.isJson || isMember || !isUnreadPart(of as JsonObject, name, value)) count(value);
    } else if (typeof value === "number") {
      // token ids; numbers with a fraction are embeddings
      if (names === null && Number.isInteger(value)) tokens += 1;
    } else if (typeof value === "object" && value !== null) {
      const isSpoken = isMember ? rule === "texts" || SPOKEN.has(name) : !WRITTEN_OUT.has(name);
      levels.push(levelOf(value, name, level.isJson || (names !== null && !isSpoken)));
    }
  }
  yield units;
  return tokens;
}

/** Whether an element of a member of the body is a message. */
function isMessage(rule: EstimateRule, member: string, element: unknown): boolean {
  if (member === "messages") return true;
  if (rule !== "responses" || member !== "input" || !isJsonObject(element)) return false;
  return element["type"] === "message" || (element["type"] === undefined && element["role"] !== undefined);
}

/** Whether a text of a message or part only names its type, or is a medium. */
function isUnreadPart(part: JsonObject, name: string, text: string): boolean {
  if (LABELS.has(name)) return text.length <= LABEL_MAX;
  // a part of plain text may have it where others have their bytes
  return MEDIA.has(name) && part["type"] !== "text";
}

/**
 * The output that term budgets reserve: of all answers, with the limit that the client states; `impliedTokens`: the one that the
 * gateway states for it otherwise.
 */
export function reservedOutputTokens(
  { outputTokens, statedOutputTokens, isOpen, answers }: TokenEstimate,
  impliedTokens: number | null,
): number {
  const ownTokens = isOpen ? null : statedOutputTokens;
  const eachTokens = Math.max(statedOutputTokens ?? 0, ownTokens ?? impliedTokens ?? outputTokens);
  return Math.min(eachTokens * answers, RESERVED_MAX);
}

function inputOnly(inputTokens: number): TokenEstimate {
  return estimateOf(inputTokens, 0, { limitTokens: null, answers: 1 });
}

/** The estimate of a request with this input. */
export function withOutput(inputTokens: number, stated: StatedOutput): TokenEstimate {
  const expected = Math.max(inputTokens, OUTPUT_MIN);
  const { limitTokens, isOpen = false } = stated;
  // an upstream may ignore it, or take it for no limit
  const limit = isOpen && limitTokens !== null && limitTokens < expected ? null : limitTokens;
  return estimateOf(inputTokens, Math.min(limit ?? expected, OUTPUT_MAX), { ...stated, limitTokens: limit });
}

function estimateOf(inputTokens: number, outputTokens: number, stated: StatedOutput): TokenEstimate {
  const { limitTokens: statedOutputTokens, isOpen, answers } = stated;
  const totalTokens = Math.max(saturated(inputTokens + outputTokens), 1);
  return { inputTokens: saturated(inputTokens), outputTokens, totalTokens, statedOutputTokens, isOpen, answers };
}

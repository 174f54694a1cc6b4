/**
 * How much output a body asks for (docs/rules/token-estimates.md#client-limits): the limit of one answer, and how many answers
 * there are. Both are read under the names of all servers, in any spelling, in the body and in what servers merge into it, and of
 * several numbers the largest counts: an upstream could use any of them. A body that has none of the route's own limits is open,
 * whatever other names it has: its upstream may ignore them.
 */
import { saturated } from "../../../shared/money/amount.ts";
import type { Steps } from "../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";
import { TOKEN_LIMITS } from "./client-fields.ts";
import type { RouteClass } from "./route-class.ts";
import { isHolder, squashed } from "./steering-fields.ts";

export interface StatedOutput {
  /** Tokens of one answer; null: the client states no limit. */
  readonly limitTokens: number | null;
  /**
   * A limit below the expected output does not count: none is the route's own, or one is a number below 1, which many servers take
   * for no limit.
   */
  readonly isOpen?: boolean | undefined;
  /** At least 1. */
  readonly answers: number;
}

/** As model servers call it: llama.cpp, SGLang and TGI, Ollama, older vLLM and Anthropic, Transformers, Llama's own, test harnesses. */
const LIMITS = namesOf(
  `${TOKEN_LIMITS.join(" ")} n_predict max_new_tokens num_predict max_tokens_to_sample max_length max_gen_len max_gen_toks`,
);
/** How many answers a prompt gets, or are made to choose one of them. */
const COUNTS = namesOf("n best_of n_cmpl num_return_sequences candidate_count num_completions num_generations");
/** A list of these is a batch, unless it is one of token ids. */
const PROMPTS = namesOf("prompt prompts text inputs input_ids input_embeds prompt_embeds messages");

/** No longer name, and no longer number in a text, means anything. */
const NAME_MAX = 64;
const NUMBER_MAX = 32;
const ENTRY_UNITS = 10;
const STEP_UNITS = 1024;

/** `own`: the limits of the route's API. */
export function* statedOutput(root: JsonObject, own: RouteClass["limits"] = []): Steps<StatedOutput> {
  const levels: (JsonObject | readonly unknown[])[] = [root];
  let [limitTokens, most, prompts, units]: [number | null, number, number, number] = [null, 1, 0, 0];
  let isOpen = !hasOwnLimit(root, own);
  for (let level = levels.pop(); level !== undefined; level = levels.pop()) {
    // names of a list's elements would be made all at once
    const holder = level as Readonly<Record<string | number, unknown>>;
    for (const key of Array.isArray(level) ? level.keys() : Object.keys(level)) {
      const value = holder[key];
      units += ENTRY_UNITS;
      if (units >= STEP_UNITS) {
        yield units;
        units = 0;
      }
      // a batch has one object of settings for each of its texts
      if (typeof key === "number") {
        if (isJsonObject(value)) levels.push(value);
        continue;
      }
      const name = squashed(key.slice(0, NAME_MAX));
      if (isHolder(name) && typeof value === "object" && value !== null) levels.push(value as JsonObject);
      else if (LIMITS.has(name)) {
        const limit = numberOf(value);
        if (limit >= 1) limitTokens = Math.max(limitTokens ?? 0, saturated(limit));
        isOpen ||= limit < 1;
      } else if (COUNTS.has(name)) most = Math.max(most, saturated(numberOf(value)));
      else if (PROMPTS.has(name)) prompts += promptsOf(name, value);
    }
  }
  yield units;
  return { limitTokens, isOpen, answers: saturated(most * Math.max(prompts, 1)) };
}

/** Whether every API that may read the body finds its limit: a number, under its very name, at its very place. */
function hasOwnLimit(root: JsonObject, own: RouteClass["limits"]): boolean {
  const reading = own.filter(({ of }) => of?.some((name) => name in root) ?? true);
  const isLimit = (path: string): boolean => {
    const value = path.split(".").reduce<unknown>((of, name) => (of as JsonObject | null | undefined)?.[name], root);
    return typeof value === "number" && value >= 1;
  };
  return reading.length > 0 && reading.every(({ names }) => names.split(" ").some(isLimit));
}

/**
 * The prompts of a batch; 0: it is not a batch. In llama.cpp a prompt may be an object, and token ids may have texts among them:
 * servers know such a list by its first element.
 */
function promptsOf(name: string, value: unknown): number {
  if (!Array.isArray(value)) return 0;
  const [first] = value as readonly unknown[];
  const isBatch =
    name === "messages"
      ? Array.isArray(first)
      : name === "inputembeds"
        ? Array.isArray(first) && Array.isArray(first[0])
        : typeof first !== "number";
  return isBatch ? value.length : 0;
}

/**
 * Some servers read a text as a number, also with signs and digits that only they know how to read: then it may be any number.
 * NaN: it is neither.
 */
function numberOf(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || value.length > NUMBER_MAX || !/\p{Nd}/u.test(value)) return Number.NaN;
  const number = Number(value.replaceAll("_", ""));
  return Number.isNaN(number) ? Number.POSITIVE_INFINITY : number;
}

function namesOf(words: string): ReadonlySet<string> {
  return new Set(words.split(" ").map(squashed));
}

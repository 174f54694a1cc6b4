/**
 * Estimates, tokens and costs, worked out from the words of the specification, its decisions and docs/rules alone (calculator.ts says
 * how).
 */
import {
  type Call,
  type CallRoute,
  type Done,
  type ModelConfig,
  NO_PARTS,
  PIECE,
  type Served,
  type TokenParts,
  type Usage,
} from "./facts.ts";

/** Routes that create no text. */
const INPUT_ONLY: ReadonlySet<CallRoute> = new Set([
  "embeddings",
  "rerank",
  "moderations",
  "speech",
  "transcriptions",
  "images",
]);
const BELIEVED_TOKENS = 2 ** 31;
const BELIEVED_FACTOR = 1000;
/** Output of a whole answer that its client leaves. */
const LEFT_OUTPUT_MAX = 2048;
const PIECE_TOKENS = PIECE.length / 4;

const textTokens = (text: string): number => (text === "" ? 0 : Math.max(Math.floor(Array.from(text).length / 4), 1));

function textsTokens(value: unknown): number {
  if (typeof value === "string") return textTokens(value);
  return Array.isArray(value) ? value.reduce((sum: number, each) => sum + textsTokens(each), 0) : 0;
}

function inputEstimate(route: CallRoute, fields: Readonly<Record<string, unknown>>): number {
  const messages = (fields["messages"] ?? []) as readonly { readonly content: string }[];
  if (route === "chat" || route === "messages")
    return messages.reduce((sum, { content }) => sum + textTokens(content) + 4, 0);
  if (route === "completions") return textsTokens(fields["prompt"]);
  if (route === "embeddings" || route === "speech") return textsTokens(fields["input"]);
  if (route === "rerank" || route === "moderations")
    return ["input", "query", "documents"].reduce((sum, name) => sum + textsTokens(fields[name]), 0);
  if (route === "responses") return textsTokens(fields["instructions"]) + textsTokens(fields["input"]);
  return 0;
}

/** The limits that the API of a route has; only these lower an estimate. */
const OWN_LIMITS: Partial<Record<CallRoute, readonly string[]>> = {
  chat: ["max_completion_tokens", "max_tokens"],
  completions: ["max_tokens"],
  messages: ["max_tokens"],
  responses: ["max_output_tokens"],
};

/** The output that the client's limits let expect, where `unlimited` is that without one. */
function limitedOutput({ route, fields }: Pick<Call, "route" | "fields">, unlimited: number): number {
  const limitsOf = (names: readonly string[]): readonly number[] =>
    names.map((name) => fields?.[name]).filter((limit) => typeof limit === "number");
  const stated = limitsOf(["max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict"]);
  const isLimited = limitsOf(OWN_LIMITS[route] ?? []).length > 0 && stated.every((limit) => limit > 0);
  return Math.max(...stated, isLimited ? 0 : unlimited);
}

interface Estimate {
  readonly input: number;
  readonly output: number;
  readonly total: number;
}

/** The tokens of a request before it runs. */
export function estimateOf({ route, fields }: Pick<Call, "route" | "fields">): Estimate {
  const input = inputEstimate(route, fields ?? {});
  const stated = limitedOutput({ route, fields }, Math.max(input, 512));
  const output = INPUT_ONLY.has(route) ? 0 : Math.min(stated, 8192);
  return { input, output, total: Math.max(input + output, 1) };
}

const PICO = 1e12;
const pico = (usd: number): bigint => BigInt(Math.round(usd * PICO));

export interface Tokens extends TokenParts {
  readonly input: number;
  readonly output: number;
  /** Seconds of audio. */
  readonly seconds: number;
  /** Whether images and audio cost their tokens. */
  readonly isByTokens: boolean;
  /** Owed when what was reported is not believed, and nothing but tokens has a price. */
  readonly reservedUsd: number;
}

/** In the order in which a token of several parts gets its price. */
const INPUT_PRICES = {
  cached: "cached_input_cost_per_token",
  written: "cache_write_cost_per_token",
  audioIn: "audio_input_cost_per_token",
  imageIn: "image_input_cost_per_token",
} as const;
const OUTPUT_PRICES = {
  reasoning: "reasoning_output_cost_per_token",
  audioOut: "audio_output_cost_per_token",
  imageOut: "image_output_cost_per_token",
} as const;
type PriceField = (typeof INPUT_PRICES & typeof OUTPUT_PRICES)[keyof TokenParts];

const hasTokenPrice = (config: ModelConfig): boolean =>
  [config.input_cost_per_token, config.output_cost_per_token]
    .concat([...Object.values(INPUT_PRICES), ...Object.values(OUTPUT_PRICES)].map((field) => config[field] ?? 0))
    .some((usd) => usd > 0);

const isForm = (route: CallRoute): boolean => route === "images" || route === "transcriptions";

/** Pico-USD of so many. */
const of = (count: number, usd: number): bigint => BigInt(Math.round(count)) * pico(usd);

/** A side's tokens, each at the first price of its own, or at the plain one. */
function sideOf(
  whole: number,
  tokens: Tokens,
  prices: Partial<Readonly<Record<keyof TokenParts, PriceField>>>,
  config: ModelConfig,
  plainUsd: number,
): bigint {
  let [rest, sum] = [whole, 0n];
  for (const [part, field] of Object.entries(prices) as readonly (readonly [keyof TokenParts, PriceField])[]) {
    const usd = config[field];
    if (usd === null) continue;
    const count = Math.min(tokens[part], rest);
    sum += of(count, usd);
    rest -= count;
  }
  return sum + of(rest, plainUsd);
}

/** USD of an answer. */
export function costOf(call: Call, config: ModelConfig, tokens: Tokens): number {
  const fields = call.fields ?? {};
  if (tokens.reservedUsd > 0) return tokens.reservedUsd;
  if (call.route === "speech")
    return Number(of(Array.from(String(fields["input"])).length, config.cost_per_character)) / PICO;
  if (call.route === "images" && !tokens.isByTokens) return Number(of(imagesOf(call), config.cost_per_image)) / PICO;
  if (call.route === "transcriptions" && !tokens.isByTokens)
    return Number(of(tokens.seconds * 1000, config.input_cost_per_second)) / PICO / 1000;
  const ofInput = sideOf(tokens.input, tokens, INPUT_PRICES, config, config.input_cost_per_token);
  const ofOutput = sideOf(tokens.output, tokens, OUTPUT_PRICES, config, config.output_cost_per_token);
  return Number(ofInput + (call.route === "embeddings" ? 0n : ofOutput)) / PICO;
}

const imagesOf = ({ fields }: Call): number => Math.max(Number(fields?.["n"] ?? 1), 1);

const AUDIO_RESERVED = { seconds: 60, tokens: 1000 };
const IMAGE_RESERVED_TOKENS = 6240;

/** The most that the tokens of an image or of audio are reserved for, where nothing else of them has a price. */
function reservedUsd(call: Call, config: ModelConfig): number {
  const isImage = call.route === "images";
  if (!isForm(call.route) || (isImage ? config.cost_per_image : config.input_cost_per_second) > 0) return 0;
  const dearest = (plain: number, fields: readonly PriceField[]): number =>
    Math.max(plain, ...fields.map((field) => config[field] ?? 0));
  const inputUsd = dearest(config.input_cost_per_token, Object.values(INPUT_PRICES));
  const outputUsd = dearest(config.output_cost_per_token, Object.values(OUTPUT_PRICES));
  const [input, output] = isImage
    ? [IMAGE_RESERVED_TOKENS, IMAGE_RESERVED_TOKENS * imagesOf(call)]
    : [AUDIO_RESERVED.tokens, AUDIO_RESERVED.tokens];
  return Number(of(input, inputUsd) + of(output, outputUsd)) / PICO;
}

/** The tokens that an answer owes. Several: the words leave it open which. */
export function owedTokens(
  { call, got }: Done,
  config: ModelConfig,
  served: Served,
  estimate: Estimate,
  { isBroken, isTimedOut }: { readonly isBroken: boolean; readonly isTimedOut: boolean },
): readonly Tokens[] {
  const { usage, seconds } = served.plan;
  const parts = { ...NO_PARTS, seconds: 0, isByTokens: false, reservedUsd: 0 };
  const seen = (call.stream ? served.pieces : served.plan.pieces) * PIECE_TOKENS;
  const none = { ...parts, input: estimate.input, output: estimate.output };
  if (call.route === "speech") return [none];
  if (isForm(call.route) && usage === null)
    return [{ ...none, seconds: call.route === "transcriptions" ? seconds : 0 }];
  if (isBroken || got.left) {
    const owing = (output: number, input: Tokens = none): Tokens => ({ ...input, output });
    if (call.stream) {
      // When its time is over the gateway may have seen no more of it than its client.
      const least = isTimedOut ? (got.text.split(PIECE).length - 1) * PIECE_TOKENS : seen;
      const inputs = startOf(call.route, served, estimate).map((start) => ({ ...parts, ...start }));
      return (inputs.length === 0 || least === 0 ? [none, ...inputs] : inputs).flatMap((input) =>
        Array.from({ length: (seen - least) / PIECE_TOKENS + 1 }, (_, at) => owing(least + at * PIECE_TOKENS, input)),
      );
    }
    // What was written of a whole answer when it broke off is not known here; before its first byte it is nothing.
    const unseen = Math.min(estimate.output, LEFT_OUTPUT_MAX);
    return [owing(unseen), owing(Math.max(unseen, seen))];
  }
  if (usage === null) {
    const least = { ...none, output: Math.max(estimate.output, INPUT_ONLY.has(call.route) ? 0 : seen) };
    return call.stream ? [least] : [least, none];
  }
  const counted = countedOf(call.route, usage);
  if (isBelieved(counted, served, estimate))
    return [{ ...withinWhole(counted), seconds: 0, isByTokens: hasTokenPrice(config), reservedUsd: 0 }];
  const unbelieved = {
    ...none,
    seconds: call.route === "transcriptions" ? AUDIO_RESERVED.seconds : 0,
    reservedUsd: reservedUsd(call, config),
  };
  return [unbelieved, { ...unbelieved, output: Math.max(none.output, seen) }];
}

/** What a stream that ended early has said of its input before its content, if that is believed. */
function startOf(route: CallRoute, served: Served, estimate: Estimate): readonly Usage[] {
  const { usage } = served.plan;
  if (route !== "messages" || usage === null) return [];
  const counted = countedOf(route, { ...usage, output: 0 });
  return isBelieved(counted, served, estimate) ? [withinWhole(counted)] : [];
}

function isBelieved(counted: Usage, served: Served, estimate: Estimate): boolean {
  const most = Math.min(BELIEVED_TOKENS, BELIEVED_FACTOR * Math.max(estimate.total, served.text.length));
  return [counted.input + counted.output, ...PARTS.map((part) => counted[part])].every((count) => count <= most);
}

const PARTS = Object.keys(NO_PARTS) as readonly (keyof TokenParts)[];

/** What a route reports of a usage: embeddings only their input, Anthropic its cache, which it does not count as input. */
function countedOf(route: CallRoute, usage: Usage): Usage {
  const { input, output, ...parts } = usage;
  if (route === "embeddings") return { ...NO_PARTS, input, output: 0 };
  const counts = Object.fromEntries(PARTS.map((part) => [part, countOf(parts[part])])) as unknown as TokenParts;
  if (route === "images" && counts.imageOut === 0) return { ...counts, input, output, imageOut: output };
  if (route !== "messages") return { ...counts, input, output };
  const { cached, written } = counts;
  const uncached = Math.max(Math.trunc(input - parts.cached - parts.written), 0);
  return { ...NO_PARTS, cached, written, input: uncached + cached + written, output };
}

/** What is negative or has a fraction counts as not reported. */
const countOf = (reported: number): number => (Number.isInteger(reported) && reported > 0 ? reported : 0);

/** No part exceeds its whole. */
function withinWhole(usage: Usage): Usage {
  const within = (whole: number, parts: object) =>
    Object.fromEntries(
      (Object.keys(parts) as (keyof TokenParts)[]).map((part) => [part, Math.min(usage[part], whole)]),
    ) as unknown as TokenParts;
  return { ...usage, ...within(usage.input, INPUT_PRICES), ...within(usage.output, OUTPUT_PRICES) };
}

/**
 * Estimates, tokens and costs, worked out from the words of the specification, its decisions and docs/rules alone (calculator.ts says
 * how).
 */
import { type Call, type CallRoute, type Done, type ModelConfig, PIECE, type Served, type Usage } from "./facts.ts";

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

/** The client's limit; undefined: it has stated none. */
function statedLimit(fields: Readonly<Record<string, unknown>>): number | undefined {
  const limits = ["max_tokens", "max_completion_tokens", "max_output_tokens"].map((name) => fields[name]);
  const stated = limits.filter((limit) => typeof limit === "number");
  return stated.length === 0 ? undefined : Math.max(...stated);
}

interface Estimate {
  readonly input: number;
  readonly output: number;
  readonly total: number;
}

/** The tokens of a request before it runs. */
export function estimateOf({ route, fields }: Pick<Call, "route" | "fields">): Estimate {
  const input = inputEstimate(route, fields ?? {});
  const limit = statedLimit(fields ?? {});
  const stated = limit === undefined ? Math.min(Math.max(input, 512), 8192) : Math.min(limit, 8192);
  const output = INPUT_ONLY.has(route) ? 0 : stated;
  return { input, output, total: Math.max(input + output, 1) };
}

const PICO = 1e12;
const pico = (usd: number): bigint => BigInt(Math.round(usd * PICO));

export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly reasoning: number;
}

/** USD of an answer. */
export function costOf(
  call: Call,
  config: ModelConfig,
  { input, output, cached, reasoning }: Tokens,
  seconds: number,
): number {
  const fields = call.fields ?? {};
  const of = (count: number, usd: number): bigint => BigInt(Math.round(count)) * pico(usd);
  if (call.route === "images") return Number(of(Math.max(Number(fields["n"] ?? 1), 1), config.cost_per_image)) / PICO;
  if (call.route === "speech")
    return Number(of(Array.from(String(fields["input"])).length, config.cost_per_character)) / PICO;
  if (call.route === "transcriptions") return Number(of(seconds * 1000, config.input_cost_per_second)) / PICO / 1000;
  const ofInput =
    of(input - cached, config.input_cost_per_token) +
    of(cached, config.cached_input_cost_per_token ?? config.input_cost_per_token);
  const ofOutput =
    of(output - reasoning, config.output_cost_per_token) +
    of(reasoning, config.reasoning_output_cost_per_token ?? config.output_cost_per_token);
  return Number(ofInput + (call.route === "embeddings" ? 0n : ofOutput)) / PICO;
}

const hasUsage = (route: CallRoute): boolean => !["speech", "transcriptions", "images"].includes(route);

/** The tokens that an answer owes. Several: the words leave it open which. */
export function owedTokens(
  { call, got }: Done,
  served: Served,
  estimate: Estimate,
  { isBroken, isTimedOut }: { readonly isBroken: boolean; readonly isTimedOut: boolean },
): readonly Tokens[] {
  const { usage } = served.plan;
  const parts = { cached: 0, reasoning: 0 };
  const seen = (call.stream ? served.pieces : served.plan.pieces) * PIECE_TOKENS;
  if (!hasUsage(call.route)) return [{ ...parts, input: estimate.input, output: estimate.output }];
  if (isBroken || got.left) {
    const owing = (output: number): Tokens => ({ ...parts, input: estimate.input, output });
    if (call.stream) {
      // When its time is over the gateway may have seen no more of it than its client.
      const least = isTimedOut ? (got.text.split(PIECE).length - 1) * PIECE_TOKENS : seen;
      return Array.from({ length: (seen - least) / PIECE_TOKENS + 1 }, (_, at) => owing(least + at * PIECE_TOKENS));
    }
    // What was written of a whole answer when it broke off is not known here; before its first byte it is nothing.
    const unseen = Math.min(estimate.output, LEFT_OUTPUT_MAX);
    return [owing(unseen), owing(Math.max(unseen, seen))];
  }
  if (usage === null) {
    const least = {
      ...parts,
      input: estimate.input,
      output: Math.max(estimate.output, INPUT_ONLY.has(call.route) ? 0 : seen),
    };
    return call.stream ? [least] : [least, { ...least, output: estimate.output }];
  }
  const reported = partsWithin(call.route, usage);
  const most = BELIEVED_FACTOR * Math.max(estimate.total, served.text.length);
  const isBelieved = (count: number): boolean => count <= BELIEVED_TOKENS && count <= most;
  if (isBelieved(reported.input) && isBelieved(reported.output)) return [reported];
  return [
    { ...parts, input: estimate.input, output: estimate.output },
    { ...parts, input: estimate.input, output: Math.max(estimate.output, seen) },
    {
      input: isBelieved(reported.input) ? reported.input : estimate.input,
      output: isBelieved(reported.output) ? reported.output : estimate.output,
      cached: isBelieved(reported.input) ? reported.cached : 0,
      reasoning: isBelieved(reported.output) ? reported.reasoning : 0,
    },
  ];
}

/** What a route reports of a usage: embeddings no output, Anthropic no reasoning. */
function partsWithin(route: CallRoute, { input, output, cached, reasoning }: Usage): Tokens {
  if (route === "embeddings") return { input, output: 0, cached: 0, reasoning: 0 };
  return {
    input,
    output,
    cached: Math.min(cached, input),
    reasoning: route === "messages" ? 0 : Math.min(reasoning, output),
  };
}

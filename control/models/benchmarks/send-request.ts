/** One request of a benchmark to the data plane (docs/rules/benchmarks.md#load). It never rejects. */

import type { StartBenchmark } from "../../../shared/schema/benchmark.ts";
import { EventReader } from "../../../shared/wire/event-reader.ts";
import { ANSWER_PARTS, parseBounded } from "../../kernel/json-parts.ts";
import { fetchReading } from "../../kernel/outbound/bounded-fetch.ts";
import type { LoadAnswer } from "./run-load.ts";

interface RequestOptions {
  /** The data plane, without a slash at its end. */
  readonly baseUrl: string;
  readonly secret: string;
  readonly plan: StartBenchmark;
  readonly isEmbedding: boolean;
  /** Differs from request to request, so that no stored answer is given. */
  readonly nonce: () => string;
  readonly nowMs: () => number;
}

const REQUEST_MAX_MS = 120_000;
const EVENT_MAX_CHARACTERS = 1_000_000;
/** More tokens than an answer of a benchmark can have are no count of it. */
const TOKENS_MAX = 1_000_000;

/** Sends requests of a plan. */
export function requestSender({
  baseUrl,
  secret,
  plan,
  isEmbedding,
  nonce,
  nowMs,
}: RequestOptions): (signal: AbortSignal) => Promise<LoadAnswer> {
  const { model, max_tokens } = plan;
  const filler = " word".repeat(Math.max(0, plan.prompt_tokens - 1));
  const url = `${baseUrl}/v1/${isEmbedding ? "embeddings" : "chat/completions"}`;
  const bodyOf = (prompt: string): object =>
    isEmbedding
      ? { model, input: prompt }
      : {
          model,
          messages: [{ role: "user", content: prompt }],
          max_tokens,
          stream: true,
          stream_options: { include_usage: true },
        };
  return async (signal) => {
    let firstByteMs: number | null = null;
    try {
      const body = JSON.stringify(bodyOf(`${nonce()}${filler}`));
      const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
      const call = { url, headers, timeoutMs: REQUEST_MAX_MS, signal };
      return await fetchReading(call, { method: "POST", body }, async (response) => {
        const events = new EventReader(EVENT_MAX_CHARACTERS);
        let outputTokens = 0;
        for await (const chunk of response.body ?? []) {
          firstByteMs ??= nowMs();
          for (const data of events.push(chunk)) outputTokens = tokensOf(data) ?? outputTokens;
        }
        for (const data of events.finish()) outputTokens = tokensOf(data) ?? outputTokens;
        return { firstByteMs, status: response.status, outputTokens };
      });
    } catch {
      return { firstByteMs, status: 0, outputTokens: 0 };
    }
  };
}

/** The tokens of the answer as an event counts them; null: it does not, or says what cannot be. */
function tokensOf(data: string): number | null {
  if (!data.includes('"usage"')) return null;
  try {
    const { usage } = parseBounded(data, ANSWER_PARTS) as { usage?: { completion_tokens?: unknown } | null };
    const tokens = usage?.completion_tokens;
    return typeof tokens === "number" && Number.isSafeInteger(tokens) && tokens >= 0 && tokens <= TOKENS_MAX
      ? tokens
      : null;
  } catch {
    return null;
  }
}

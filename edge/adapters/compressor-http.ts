/**
 * The compression sidecar over HTTP (docs/rules/compression.md#sidecar): one call within its timeout, whose answer is used
 * only when it has exactly one finite number for each sentence. The sidecar is the operator's own; addresses that are always
 * blocked are not called. One that keeps failing is not asked for a while, so that requests do not all wait for its timeout.
 */
import { INFRASTRUCTURE_POLICY, isUrlAllowed } from "../../shared/network/ssrf.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import { RecentFailures } from "../domain/upstream/recent-failures.ts";
import type { Clock, Compressor, Log } from "../ports.ts";
import { boundedText } from "./bounded-text.ts";

/** A number takes at most this many characters in JSON, with its comma and some whitespace. */
const SCORE_CHARS_MAX = 40;
const ANSWER_CHARS_MIN = 4096;

interface CompressorOptions {
  /** Without a trailing slash; null if there is no sidecar. */
  readonly url: string | null;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly log: Log;
}

/** An unusable answer; the message says why, and contains no part of the answer. */
class Unusable extends Error {
  override readonly name = "Unusable";
}

export class CompressorHttp implements Compressor {
  readonly #options: CompressorOptions;
  readonly #failures = new RecentFailures();

  constructor(options: CompressorOptions) {
    this.#options = options;
  }

  get enabled(): boolean {
    return this.#options.url !== null;
  }

  async score(segments: readonly (readonly string[])[], query: string): Promise<readonly (readonly number[])[] | null> {
    const { url, log, clock } = this.#options;
    if (url === null || this.#failures.isFailing(url, clock())) return null;
    try {
      if (!isUrlAllowed(url, INFRASTRUCTURE_POLICY)) throw new Unusable("address is not allowed");
      const scores = scoresOf(await this.#answer(`${url}/score`, segments, query), segments);
      this.#failures.answered(url);
      return scores;
    } catch (error) {
      this.#failures.failed(url, clock());
      log.event("compressor_failed", { reason: `${new URL(url).host}: ${rootCause(error)}` });
      return null;
    }
  }

  async #answer(url: string, segments: readonly (readonly string[])[], query: string): Promise<unknown> {
    const { timeoutMs, fetch } = this.#options;
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ segments: segments.map((sentences) => ({ sentences })), query }),
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.status !== 200) {
      await response.body?.cancel().catch(() => undefined);
      throw new Unusable(`http ${response.status}`);
    }
    const sentences = segments.reduce((sum, { length }) => sum + length, 0);
    const text = await boundedText(response, ANSWER_CHARS_MIN + (sentences + segments.length) * SCORE_CHARS_MAX);
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new Unusable("not json");
    }
  }
}

function scoresOf(answer: unknown, segments: readonly (readonly string[])[]): readonly (readonly number[])[] {
  const results = fieldOf(answer, "results");
  if (!Array.isArray(results) || results.length !== segments.length) throw new Unusable("wrong number of results");
  return segments.map((sentences, at) => {
    const scores = fieldOf(results[at], "scores");
    if (!Array.isArray(scores) || scores.length !== sentences.length) throw new Unusable("wrong number of scores");
    return scores.map((score: unknown) => {
      if (typeof score !== "number" || !Number.isFinite(score)) throw new Unusable("a score is not a finite number");
      return score;
    });
  });
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

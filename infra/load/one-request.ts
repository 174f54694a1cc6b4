/** Sends one request of a load and measures it. */
import { EventReader } from "../../shared/wire/event-reader.ts";
import type { LoadOptions } from "./options.ts";

/** The course of one request. Times are milliseconds of the load's clock, which starts with the load. */
export interface LoadSample {
  readonly startMs: number;
  /** When the first token, or a whole answer, was there; null: never. */
  readonly firstMs: number | null;
  readonly endMs: number;
  /** `ok`, the code of a refusal, or `cut_off` for an incomplete answer. */
  readonly outcome: string;
  /** As the answer counted them; 0: it did not say. */
  readonly outputTokens: number;
}

/** One event, or a whole answer, is not larger than this; more is cut off. */
const ANSWER_MAX_CHARACTERS = 16 * 1024 * 1024;
/** A count above the possible size of an answer is ignored. */
const TOKENS_MAX = 10_000_000;
const CODE = /^[a-z0-9_]{1,64}$/;

/** The headers and body of every request of a load. */
export function requestOf(options: LoadOptions): RequestInit {
  const { key, model, prompt, maxTokens, isStreamed } = options;
  return {
    method: "POST",
    redirect: "manual",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model,
      messages: [{ role: "user", content: prompt }],
      max_tokens: maxTokens,
      stream: isStreamed,
      ...(isStreamed ? { stream_options: { include_usage: true } } : {}),
    }),
  };
}

/** Sends it. Never throws: a failure is the outcome. `signal` cuts it off. */
export async function sendOne(
  baseUrl: string,
  request: RequestInit,
  clock: () => number,
  signal: AbortSignal,
): Promise<LoadSample> {
  const startMs = clock();
  let firstMs: number | null = null;
  const ended = (outcome: string, outputTokens = 0): LoadSample => ({
    startMs,
    firstMs: outcome === "ok" ? firstMs : null,
    endMs: clock(),
    outcome,
    outputTokens,
  });
  try {
    const response = await fetch(`${baseUrl}/v1/chat/completions`, { ...request, signal });
    if (!response.ok) return ended(await refusalOf(response));
    const answer = new AnswerEnd();
    const isStream = response.headers.get("content-type")?.includes("text/event-stream") === true;
    const events = new EventReader(ANSWER_MAX_CHARACTERS);
    const decoder = new TextDecoder();
    let whole = "";
    for await (const chunk of response.body ?? []) {
      if (isStream) {
        for (const data of events.push(chunk)) answer.take(data);
        if (answer.hasToken) firstMs ??= clock();
      } else whole += decoder.decode(chunk, { stream: true });
      if (events.overflowed || whole.length > ANSWER_MAX_CHARACTERS) return ended("answer_too_large");
    }
    if (isStream) for (const data of events.finish()) answer.take(data);
    else answer.take(whole);
    firstMs ??= clock();
    return ended(answer.outcome(isStream), answer.outputTokens);
  } catch {
    return ended(signal.aborted ? "stopped" : firstMs === null ? "unreachable" : "cut_off");
  }
}

/** The facts that the events of an answer show about its end. */
class AnswerEnd {
  hasToken = false;
  outputTokens = 0;
  #isDone = false;
  #error: string | null = null;

  take(data: string): void {
    if (data === "[DONE]") {
      this.#isDone = true;
      return;
    }
    const { choices, usage, error } = fieldsOf(parsed(data));
    if (error !== undefined && error !== null) this.#error = codeOf(error) ?? "error";
    if (Array.isArray(choices) && choices.length > 0) this.hasToken = true;
    const tokens = fieldsOf(usage)["completion_tokens"];
    if (Number.isSafeInteger(tokens) && (tokens as number) >= 0 && (tokens as number) <= TOKENS_MAX)
      this.outputTokens = tokens as number;
  }

  outcome(isStream: boolean): string {
    if (this.#error !== null) return this.#error;
    return (isStream ? this.#isDone : this.hasToken) ? "ok" : "cut_off";
  }
}

async function refusalOf(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => null);
  return codeOf(fieldsOf(body)["error"]) ?? `http_${response.status}`;
}

/** The code of an error; null if it has none that can be shown. */
function codeOf(error: unknown): string | null {
  const { code } = fieldsOf(error);
  return typeof code === "string" && CODE.test(code) ? code : null;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

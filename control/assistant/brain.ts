/**
 * Asks the model through the data plane, as the tenant of the assistant (docs/rules/assistant.md#model): governed, billed
 * and visible like any other. The key lives in memory and is renewed.
 */
import { EventReader } from "../../shared/wire/event-reader.ts";
import { type HeldKey, RenewedKey } from "../kernel/renewed-key.ts";
import { BrainAnswer, type BrainTurn } from "./brain-answer.ts";
import type { ModelTool } from "./model-tools.ts";

/** Thrown when the model could not be asked; `code` is the gateway's, or `brain_unreachable`. */
export class BrainError extends Error {
  override readonly name = "BrainError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

interface BrainOptions {
  /** The data plane, without a slash at its end. */
  readonly baseUrl: string;
  /** Makes a key; its errors are thrown on. */
  readonly makeKey: () => Promise<HeldKey>;
  /** Epoch milliseconds. */
  readonly nowMs: () => number;
}

const RENEWED_BEFORE_MS = 3_600_000;
const EVENT_MAX_CHARACTERS = 1_000_000;
const ANSWER_MAX_BYTES = 4 * 1024 * 1024;
const REFUSAL_MAX_CHARACTERS = 64 * 1024;
const MESSAGE_MAX_CHARACTERS = 500;
const ANSWER_MAX_TOKENS = 4096;

export class Brain {
  readonly #options: BrainOptions;
  readonly #key: RenewedKey;

  constructor(options: BrainOptions) {
    this.#options = options;
    this.#key = new RenewedKey({ nowMs: options.nowMs, renewedBeforeMs: RENEWED_BEFORE_MS });
  }

  /** One turn of the model. Throws BrainError, also when `signal` ends it, and what making a key throws. */
  async ask(
    question: { readonly model: string; readonly messages: readonly unknown[]; readonly tools: readonly ModelTool[] },
    onText: (text: string) => void,
    signal: AbortSignal,
  ): Promise<BrainTurn> {
    const body = JSON.stringify({
      ...question,
      ...(question.tools.length === 0 ? { tools: undefined } : {}),
      stream: true,
      max_tokens: ANSWER_MAX_TOKENS,
    });
    const key = await this.#key.current(this.#options.makeKey);
    let response = await this.#send(body, key, signal);
    // The key may have been deleted, or its tenant with it. What an upstream refuses is the upstream's own key.
    if (response.status === 401 && !response.headers.has("x-gateway-upstream-status")) {
      await response.body?.cancel();
      await this.#key.forget(key);
      response = await this.#send(body, await this.#key.current(this.#options.makeKey), signal);
    }
    if (!response.ok) throw await refusalOf(response);
    try {
      return await read(response, onText);
    } catch (error) {
      throw error instanceof BrainError ? error : unreachable();
    }
  }

  async #send(body: string, { secret }: HeldKey, signal: AbortSignal): Promise<Response> {
    try {
      return await fetch(`${this.#options.baseUrl}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body,
        redirect: "manual",
        signal,
      });
    } catch {
      throw unreachable();
    }
  }
}

/** Reads an answer, streamed or whole. */
async function read(response: Response, onText: (text: string) => void): Promise<BrainTurn> {
  const answer = new BrainAnswer();
  const take = (data: string): void => {
    const text = answer.take(data);
    if (text !== "") onText(text);
  };
  if (!/^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "")) {
    take(await textOf(response, ANSWER_MAX_BYTES));
    return answer.turn;
  }
  const events = new EventReader(EVENT_MAX_CHARACTERS);
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    for (const data of events.push(chunk)) take(data);
    if (bytes > ANSWER_MAX_BYTES || events.overflowed)
      throw new BrainError("answer_too_large", "the model's answer is too large for the assistant");
  }
  for (const data of events.finish()) take(data);
  return answer.turn;
}

async function textOf(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxBytes) break;
  }
  return text;
}

/** What the data plane said, in its words. */
async function refusalOf(response: Response): Promise<BrainError> {
  const text = await textOf(response, REFUSAL_MAX_CHARACTERS).catch(() => "");
  let said: { code?: unknown; message?: unknown } | undefined;
  try {
    said = (JSON.parse(text) as { error?: typeof said } | null)?.error;
  } catch {
    said = undefined;
  }
  const code = typeof said?.code === "string" && said.code.length <= 100 ? said.code : "upstream_error";
  const message = typeof said?.message === "string" ? said.message : `HTTP ${response.status}`;
  return new BrainError(code, message.slice(0, MESSAGE_MAX_CHARACTERS).toWellFormed());
}

function unreachable(): BrainError {
  return new BrainError("brain_unreachable", "the model's answer was cut off; ask again");
}

/** Calls of the data plane as a tenant or with a pasted key, by the console's relay (docs/rules/console.md#relay). */
import { EventReader } from "../../../shared/wire/event-reader.ts";
import { send } from "../../data/api.ts";
import { ApiError, errorOf } from "../../data/api-error.ts";
import { fieldsOf } from "../../data/untyped.ts";
import { playgroundTexts } from "../../messages/en/playground.ts";
import { texts } from "../../messages/texts.ts";
import { ANSWER_MAX_CHARACTERS, type Answer, answerLength, failureIn, NO_ANSWER, withChunk } from "./answer.ts";
import { type Api, withMessagesEvent } from "./messages-api.ts";

const text = texts("playground", playgroundTexts);
const RELAY = "/api/relay/v1";
/** Of one event of a stream, and of a whole document. */
const EVENT_MAX_CHARACTERS = 8_000_000;

/** As whom calls are made: with a pasted key, as a tenant that an admin has chosen, or as the person's own tenant. */
export type CallAs = { readonly key: string } | { readonly tenantId: string } | "own tenant";

interface ChatCall {
  readonly as: CallAs;
  readonly api: Api;
  /** The body, as JSON. */
  readonly body: string;
  readonly signal: AbortSignal;
  /** Called once, with the gateway's headers. */
  readonly onHeaders: (headers: Readonly<Record<string, string>>) => void;
  /** Called with all of the answer that is there. */
  readonly onAnswer: (answer: Answer) => void;
}

/** How the answer of an API grows. */
const GROWS = { "chat/completions": withChunk, messages: withMessagesEvent } as const;

/**
 * Sends a chat request and reads its answer as it comes. Resolves at its end. Throws ApiError for a refusal, and for an answer
 * that breaks off or is none; whatever `fetch` throws when it is cancelled.
 */
export async function sendChat(call: ChatCall): Promise<void> {
  const { as, api, body, signal, onHeaders, onAnswer } = call;
  const response = await send(
    new Request(new URL(`${RELAY}/${api}`, location.origin), {
      method: "POST",
      headers: { ...headersOf(as), "content-type": "application/json" },
      body,
      signal,
    }),
  );
  onHeaders(Object.fromEntries(response.headers));
  if (!response.ok) throw errorOf(response, await response.json().catch(() => null));
  if (/^text\/event-stream/i.test(response.headers.get("content-type") ?? "")) return await readStream(response, call);
  const document: unknown = await response.json().catch(() => null);
  const answer = GROWS[api](NO_ANSWER, document);
  if (!Array.isArray(fieldsOf(document)[api === "messages" ? "content" : "choices"]))
    throw brokenOff(response, text("notUnderstood"));
  if (answerLength(answer) > ANSWER_MAX_CHARACTERS) throw brokenOff(response, text("tooLong"));
  onAnswer(answer);
}

async function readStream(response: Response, { api, signal, onAnswer }: ChatCall): Promise<void> {
  const events = new EventReader(EVENT_MAX_CHARACTERS);
  const reader = response.body?.getReader();
  let answer = NO_ANSWER;
  try {
    for (;;) {
      const read = await reader?.read().catch((error: unknown) => {
        if (signal.aborted) throw error;
        throw new ApiError(response.status, "upstream_stream_error", text("brokeOff"));
      });
      const isEnd = read?.done !== false;
      const data = isEnd ? events.finish() : events.push(read.value);
      const before = answer;
      for (const one of data) {
        const chunk = jsonOf(one);
        const failure = failureIn(chunk);
        if (failure !== null) throw new ApiError(response.status, failure.code, failure.message);
        answer = GROWS[api](answer, chunk);
      }
      if (answer !== before) onAnswer(answer);
      if (events.overflowed || answerLength(answer) > ANSWER_MAX_CHARACTERS) throw brokenOff(response, text("tooLong"));
      if (isEnd) return;
    }
  } finally {
    // Ends the call too, where the answer was left before its end.
    void reader?.cancel().catch(() => undefined);
  }
}

/** The chat models that may be called, in the order of the gateway, and `auto`. Throws ApiError. */
export async function listedModels(as: CallAs, signal: AbortSignal): Promise<readonly string[]> {
  const headers = headersOf(as);
  const response = await send(new Request(new URL(`${RELAY}/models`, location.origin), { headers, signal }));
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw errorOf(response, body);
  const { data } = fieldsOf(body);
  if (!Array.isArray(data)) throw brokenOff(response, text("modelsFailed"));
  const names = data.flatMap((model: unknown) => {
    const { id, model_type, enabled } = fieldsOf(model);
    return typeof id === "string" && model_type === "chat" && enabled !== false ? [id] : [];
  });
  return [...names, "auto"];
}

function headersOf(as: CallAs): Readonly<Record<string, string>> {
  if (as === "own tenant") return {};
  return "key" in as ? { authorization: `Bearer ${as.key}` } : { "x-gateway-tenant": as.tenantId };
}

function brokenOff(response: Response, message: string): ApiError {
  return new ApiError(response.status, "not_understood", message);
}

function jsonOf(data: string): unknown {
  try {
    return JSON.parse(data) as unknown;
  } catch {
    return null; // `[DONE]`, and what no client can read
  }
}

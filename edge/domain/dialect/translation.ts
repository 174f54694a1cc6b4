/**
 * The translation between OpenAI's chat completions and Anthropic's Messages (docs/rules/dialects.md). Pure: it gets documents
 * and the data of events and returns the same. It never decides whether a call is translated, and never sees headers. Each document is translated directly, not
 * through an inner form: two dialects need two translations of each, and an inner form four.
 */
import type { Steps } from "../../../shared/steps.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { chatError, messagesError } from "./error-types.ts";
import type { Dialect } from "./lost-fields.ts";
import { chatAnswer } from "./to-chat/answer.ts";
import { chatRequest } from "./to-chat/request.ts";
import { ChatStream } from "./to-chat/stream.ts";
import { messagesAnswer } from "./to-messages/answer.ts";
import { messagesRequest, UNSTATED_MAX_TOKENS } from "./to-messages/request.ts";
import { MessagesStream } from "./to-messages/stream.ts";

export type { Dialect };

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";

/** What a translation needs to know apart from the documents. */
interface TranslationOptions {
  /** Unix time of the answer: Messages have none, chat completions need one. */
  readonly createdSecs: number;
  /** The client of a stream asked for its usage chunk (`stream_options.include_usage`). */
  readonly usageAsked: boolean;
}

/** Events of one stream as they come. Each call returns the text of the events for the client, or "". */
export interface StreamTranslation {
  /** One event of the upstream, `[DONE]` too. `name` is its `event` field. */
  event(name: string | null, data: string): Steps<string>;
  /** The stream was none of its API, or ended before its own end. */
  readonly isBroken: boolean;
  /** The upstream's body ended, with or without its own end. */
  end(): string;
}

export interface Translation {
  /** The path below the upstream's base: `chat/completions` or `messages`. */
  readonly path: string;
  /** The body for the upstream. Throws `untranslatable_field`, which names the field. */
  request(body: JsonObject): Steps<JsonObject>;
  /** A 2xx document in the client's form. Throws `upstream_failed` for what is no answer. */
  answer(body: JsonObject): Steps<JsonObject>;
  stream(): StreamTranslation;
  /** A refusal of the upstream in the client's form. */
  error(status: number, body: unknown): JsonObject;
}

/**
 * The translation for a call of this path (`/v1/messages`, `/v1/chat/completions`) to a model of this dialect. Null: the model
 * speaks the route's own dialect, or the route has no translation.
 */
export function translationOf(path: string, dialect: Dialect, options: TranslationOptions): Translation | null {
  const { createdSecs } = options;
  if (path === MESSAGES && dialect === "openai")
    return {
      path: "chat/completions",
      request: chatRequest,
      answer: messagesAnswer,
      stream: () => new MessagesStream(),
      error: messagesError,
    };
  if (path === CHAT && dialect === "anthropic")
    return {
      path: "messages",
      request: messagesRequest,
      answer: (body) => chatAnswer(body, createdSecs),
      stream: () => new ChatStream(options),
      error: chatError,
    };
  return null;
}

/** The output limit that a call of this path gets by its translation if it states none, in tokens; null: none. */
export function impliedLimitTokens(path: string, dialect: Dialect): number | null {
  return path === CHAT && dialect === "anthropic" ? UNSTATED_MAX_TOKENS : null;
}

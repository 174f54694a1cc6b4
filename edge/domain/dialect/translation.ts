/**
 * The translation between OpenAI's chat completions and Anthropic's Messages (docs/rules/dialects.md). Pure: it gets documents
 * and the data of events and returns the same. It never decides whether a call is translated, and never sees headers. Each document is translated directly, not
 * through an inner form: two dialects need two translations of each, and an inner form four. The Responses API is translated to chat
 * completions, and through them to Messages.
 */
import type { Translation } from "./contract.ts";
import { chatError, messagesError } from "./error-types.ts";
import type { Dialect } from "./lost-fields.ts";
import { responsesTranslation } from "./responses/translation.ts";
import { chatAnswer } from "./to-chat/answer.ts";
import { chatRequest } from "./to-chat/request.ts";
import { ChatStream } from "./to-chat/stream.ts";
import { messagesAnswer } from "./to-messages/answer.ts";
import { messagesRequest, UNSTATED_MAX_TOKENS } from "./to-messages/request.ts";
import { MessagesStream } from "./to-messages/stream.ts";

export type { Dialect };

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const RESPONSES = "/v1/responses";

/** The inputs of a translation other than the documents. */
interface TranslationOptions {
  /** Unix time of the answer: Messages have none, chat completions need one. */
  readonly createdSecs: number;
  /** The client of a stream asked for its usage chunk (`stream_options.include_usage`). */
  readonly usageAsked: boolean;
}

/**
 * The translation for a call of this path (`/v1/messages`, `/v1/chat/completions`, `/v1/responses`) to a model of this dialect
 * without the Responses API. Null: the model speaks the route's own dialect, or the route has no translation.
 */
export function translationOf(path: string, dialect: Dialect, options: TranslationOptions): Translation | null {
  const { createdSecs } = options;
  if (path === RESPONSES) {
    const messages = translationOf(CHAT, dialect, { ...options, usageAsked: true });
    return responsesTranslation(createdSecs, messages);
  }
  if (path === MESSAGES && dialect === "openai")
    return {
      path: "chat/completions",
      request: chatRequest,
      answer: messagesAnswer,
      stream: (take) => new MessagesStream(take),
      error: messagesError,
    };
  if (path === CHAT && dialect === "anthropic")
    return {
      path: "messages",
      request: messagesRequest,
      answer: (body, take) => chatAnswer(body, createdSecs, take),
      stream: () => new ChatStream(options),
      error: chatError,
    };
  return null;
}

/** The output limit that a call of this path gets by its translation if it states none, in tokens; null: none. */
export function impliedLimitTokens(path: string, dialect: Dialect): number | null {
  return (path === CHAT || path === RESPONSES) && dialect === "anthropic" ? UNSTATED_MAX_TOKENS : null;
}

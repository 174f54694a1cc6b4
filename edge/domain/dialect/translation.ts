/**
 * The translation between OpenAI's chat completions and Anthropic's Messages (docs/rules/dialects.md). Pure: it gets documents
 * and the data of events and returns the same. It never decides whether a call is translated, and never sees headers.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { Steps } from "../../../shared/steps.ts";
import type { JsonObject } from "../wire/json/document.ts";

export type Dialect = "openai" | "anthropic";

/** What a translation needs to know besides the documents. */
export interface TranslationOptions {
  /** Unix time of the answer: Messages have none, chat completions need one. */
  readonly createdSecs: number;
  /** The output limit of a call that states none, because Messages require one. Null: 4,096. */
  readonly maxTokens: number | null;
  /** The client of a stream asked for its usage chunk (`stream_options.include_usage`). */
  readonly usageAsked: boolean;
}

/** Events of one stream as they come. Each call returns the text of the events for the client, or "". */
export interface StreamTranslation {
  /** One event of the upstream, `[DONE]` too. `name` is its `event` field. */
  event(name: string | null, data: string): Steps<string>;
  /** The upstream's body ended, with or without its own end. */
  end(): string;
}

export interface Translation {
  /** The path below the upstream's base: `chat/completions` or `messages`. */
  readonly path: string;
  /** The body for the upstream. Throws a {@link GatewayError} `untranslatable_field` that names the field. */
  request(body: JsonObject): Steps<JsonObject>;
  /** A 2xx document in the client's form. */
  answer(body: JsonObject): Steps<JsonObject>;
  stream(): StreamTranslation;
  /** A refusal of the upstream in the client's form. */
  error(status: number, body: unknown): JsonObject;
}

/**
 * The translation for a call of this path (`/v1/messages`, `/v1/chat/completions`) to a model of this dialect. Null: the model
 * speaks the route's own dialect, or the route has no translation.
 */
export function translationOf(_path: string, _dialect: Dialect, _options: TranslationOptions): Translation | null {
  throw new GatewayError("internal_error");
}

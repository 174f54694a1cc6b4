/** What a translation between a client's API and a model's API does. */
import type { Steps } from "../../../shared/steps.ts";
import type { JsonObject } from "../wire/json/document.ts";
import type { TakeBytes } from "../wire/json/write-in-steps.ts";

/** Events of one stream as they come. Each call returns the text of the events for the client, or "". */
export interface StreamTranslation {
  /** One event of the upstream, `[DONE]` too. `name` is its `event` field. */
  event(name: string | null, data: string): Steps<string>;
  /** The stream is not in its API's form, or ended early. */
  readonly isBroken: boolean;
  /** The fault of a stream that did not just end early, in words for its client. */
  readonly fault?: string | null;
  /** Memory used by what is kept for later events. */
  readonly keptBytes: number;
  /** The upstream's body ended, with or without its own end. */
  end(): string;
}

/** `take` counts the output of a translation, and throws when it is too much. */
export interface Translation {
  /** The path below the upstream's base: `chat/completions` or `messages`. */
  readonly path: string;
  /**
   * The body for the upstream; call this before anything else of the translation. Throws `untranslatable_field`, which names
   * the field.
   */
  request(body: JsonObject, take?: TakeBytes): Steps<JsonObject>;
  /** A 2xx document in the client's form. Throws `upstream_failed` if it is not an answer. */
  answer(body: JsonObject, take?: TakeBytes): Steps<JsonObject>;
  stream(take?: TakeBytes): StreamTranslation;
  /** A refusal of the upstream in the client's form. */
  error(status: number, body: unknown): JsonObject;
}

/** What a translation between the API of a client and that of a model does. */
import type { Steps } from "../../../shared/steps.ts";
import type { JsonObject } from "../wire/json/document.ts";
import type { TakeBytes } from "../wire/json/write-in-steps.ts";

/** Events of one stream as they come. Each call returns the text of the events for the client, or "". */
export interface StreamTranslation {
  /** One event of the upstream, `[DONE]` too. `name` is its `event` field. */
  event(name: string | null, data: string): Steps<string>;
  /** The stream is not one of its API, or ended early. */
  readonly isBroken: boolean;
  /** What is wrong with a stream that did not just end early, in words for its client. */
  readonly fault?: string | null;
  /** Memory of what is kept for later events. */
  readonly keptBytes: number;
  /** The upstream's body ended, with or without its own end. */
  end(): string;
}

/** What a translation writes is counted by `take`, which throws when that is too much. */
export interface Translation {
  /** The path below the upstream's base: `chat/completions` or `messages`. */
  readonly path: string;
  /** The body for the upstream, before anything else is asked of the translation. Throws `untranslatable_field`, which names the field. */
  request(body: JsonObject, take?: TakeBytes): Steps<JsonObject>;
  /** A 2xx document in the client's form. Throws `upstream_failed` for what is no answer. */
  answer(body: JsonObject, take?: TakeBytes): Steps<JsonObject>;
  stream(take?: TakeBytes): StreamTranslation;
  /** A refusal of the upstream in the client's form. */
  error(status: number, body: unknown): JsonObject;
}

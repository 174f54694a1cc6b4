/**
 * The translation of a call of the Responses API (docs/rules/dialects.md#responses): to chat completions, and through them to
 * Anthropic's Messages.
 */
import { errorType, GatewayError } from "../../../../shared/errors.ts";
import type { Steps } from "../../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
import type { StreamTranslation, Translation } from "../contract.ts";
import { chatError } from "../error-types.ts";
import { type ResponsesAsked, responsesAnswer, settingsOf } from "./answer.ts";
import { chatCallOf } from "./request.ts";
import { ResponsesStream } from "./stream.ts";

/** `messages`: the translation of a chat completion to Messages; null: the upstream has chat completions. */
export function responsesTranslation(createdSecs: number, messages: Translation | null): Translation {
  let asked: ResponsesAsked = { settings: {}, clientTools: new Map(), createdSecs };
  return {
    path: messages?.path ?? "chat/completions",
    request: function* (body): Steps<JsonObject> {
      const { request, clientTools } = yield* chatCallOf(body, messages !== null);
      asked = { ...asked, settings: settingsOf(body), clientTools };
      if (messages === null) return request;
      try {
        return yield* messages.request(request);
      } catch (error) {
        throw inWordsOfResponses(error);
      }
    },
    answer: function* (body, take): Steps<JsonObject> {
      return yield* responsesAnswer(messages === null ? body : yield* messages.answer(body, take), asked, take);
    },
    stream: (take) => {
      const stream = new ResponsesStream(asked, take);
      return messages === null ? stream : new JoinedStream(messages.stream(), stream);
    },
    error: (status, body) => {
      if (messages !== null) return messages.error(status, body);
      return isJsonObject(body) && isJsonObject(body["error"])
        ? { error: { param: null, code: null, type: errorType(status), ...body["error"] } }
        : chatError(status, body);
    },
  };
}

/** The place of a refused field in the client's own request, if one place corresponds to the other. */
function inWordsOfResponses(error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.code !== "untranslatable_field") return error;
  const { param, message } = error.body.error;
  const at = param ?? "";
  const named = at.startsWith("messages.") ? "input" : at === "response_format" ? "text.format" : at;
  return new GatewayError(error.code, { param: named, complaint: message.replace(at, named) });
}

/** The events of the first translation are the upstream's events of the second one. */
class JoinedStream implements StreamTranslation {
  readonly #first: StreamTranslation;
  readonly #second: ResponsesStream;

  constructor(first: StreamTranslation, second: ResponsesStream) {
    this.#first = first;
    this.#second = second;
  }

  get isBroken(): boolean {
    return this.#first.isBroken || this.#second.isBroken;
  }

  get keptBytes(): number {
    return this.#first.keptBytes + this.#second.keptBytes;
  }

  *event(name: string | null, data: string): Steps<string> {
    let text = "";
    for (const event of (yield* this.#first.event(name, data)).split("\n\n"))
      if (event.startsWith("data: ")) text += yield* this.#second.event(null, event.slice("data: ".length));
    return text;
  }

  end(): string {
    this.#first.end();
    return this.#second.end();
  }
}

/**
 * The events of a realtime session as far as the gateway reads them (docs/rules/realtime.md#events). An event is written anew
 * before it goes on, so that its reader finds in it what the gateway has found.
 */
import { type ErrorBody, type ErrorCode, type ErrorOptions, errorBody } from "../../../shared/errors.ts";
import { isJsonObject, type JsonObject, jsonObjectOf } from "../wire/json/document.ts";

export interface RealtimeEvent extends JsonObject {
  readonly type: string;
}

/** The value as an event; null: it is none. A server that ignores case must find no other type in it. */
export function eventOf(value: unknown): RealtimeEvent | null {
  if (!isJsonObject(value) || typeof value["type"] !== "string") return null;
  return Object.keys(value).some((name) => name !== "type" && name.toLowerCase() === "type")
    ? null
    : (value as RealtimeEvent);
}

/** Events without text that a model reads: they are not examined. */
export function isTextless({ type }: RealtimeEvent): boolean {
  return /^(?:(?:in|out)put_audio_buffer\..*|response\.cancel|conversation\.item\.(?:delete|truncate|retrieve))$/.test(
    type,
  );
}

/** Base64 audio of the client. */
export function heardCharacters({ type, audio }: RealtimeEvent): number {
  return type === "input_audio_buffer.append" && typeof audio === "string" ? audio.length : 0;
}

/** Base64 audio of the model. */
export function spokenCharacters({ type, delta }: RealtimeEvent): number {
  return /^response\.(?:output_)?audio\.delta$/.test(type) && typeof delta === "string" ? delta.length : 0;
}

/** The largest output that a session or a response is limited to; null: without a limit; undefined: nothing is stated. */
export function outputLimitOf(settings: JsonObject | null): number | null | undefined {
  // An upstream reads either name.
  const { max_output_tokens: limit, max_response_output_tokens: older } = settings ?? {};
  const stated = [limit, older].filter((value) => value !== undefined);
  if (stated.length === 0) return undefined;
  const limits = stated.filter((value) => typeof value === "number" && Number.isInteger(value) && value > 0);
  return limits.length === stated.length ? Math.max(...(limits as number[])) : null;
}

/** The id of the response that an event of the upstream belongs to; null: to none. */
export function responseIdOf(event: RealtimeEvent): string | null {
  const id = event["response_id"] ?? jsonObjectOf(event["response"])?.["id"];
  return typeof id === "string" ? id : null;
}

/** Whether an event shows only what the client itself has said. */
export function isOfClient(event: RealtimeEvent): boolean {
  const role = jsonObjectOf(event["item"])?.["role"];
  return event.type.startsWith("conversation.item.")
    ? role === "user" || role === "system" || event.type.startsWith("conversation.item.input_audio_transcription.")
    : false;
}

/** Whether an event may show the text of an answer. */
export function mayShowAnswer({ type }: RealtimeEvent): boolean {
  return /^(?:response|conversation)\./.test(type);
}

/** A longer id of a client's event is not repeated: what it sends once is not kept for a client that does not read. */
const EVENT_ID_MAX = 512;

/** The event that tells of an error (OpenAI's form). `about`: the client's event that caused it. */
export function errorEventOf(error: ErrorBody["error"], id: string, about: unknown = null): RealtimeEvent {
  const { type, code, message, param } = error;
  const event_id = typeof about === "string" && about.length <= EVENT_ID_MAX ? about : null;
  return { type: "error", event_id: `event_${id}`, error: { type, code, message, param, event_id } };
}

/** The end of a response of which the client gets nothing. */
export function failedResponse(done: RealtimeEvent, code: ErrorCode, options: ErrorOptions = {}): RealtimeEvent {
  const { error } = errorBody(code, options);
  const status_details = { type: "failed", error: { type: error.type, code } };
  return { ...done, response: { ...jsonObjectOf(done["response"]), output: [], status: "failed", status_details } };
}

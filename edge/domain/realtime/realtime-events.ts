/**
 * The events of a realtime session as far as the gateway reads them (docs/rules/realtime.md#events). An event is rewritten
 * before it is passed on, so that its reader finds in it exactly what the gateway found.
 */
import { type ErrorBody, type ErrorCode, type ErrorOptions, errorBody } from "../../../shared/errors.ts";
import { isJsonObject, type JsonObject, jsonObjectOf } from "../wire/json/document.ts";

export interface RealtimeEvent extends JsonObject {
  readonly type: string;
}

/** Longest id of an upstream that is used, in characters. */
const ID_MAX = 128;

/** The value as an event; null if it is not one. A server that ignores case must find no other type in it. */
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

/** The id of the response that an event of the upstream belongs to; null: to none. A longer one is not kept. */
export function responseIdOf(event: RealtimeEvent): string | null {
  const id = event["response_id"] ?? jsonObjectOf(event["response"])?.["id"];
  return typeof id === "string" && id.length <= ID_MAX ? id : null;
}

/** The part of an item whose transcript an event reports as a whole; "": it names none; null: it reports no transcript. */
export function transcribedPart({ type, item_id: item, content_index: at }: RealtimeEvent): string | null {
  if (!type.endsWith("_transcription.completed")) return null;
  return typeof item === "string" && item.length <= ID_MAX ? `${item} ${Number(at)}` : "";
}

/** Whether the upstream states the settings of the session. */
export function statesSettings({ type }: RealtimeEvent): boolean {
  return /^(?:transcription_)?session\.(?:created|updated)$/.test(type);
}

/** Whether an event has a part of the client's spoken audio as text, before the whole is known. */
export function isTranscriptPiece({ type }: RealtimeEvent): boolean {
  return /_transcription\.(?:delta|segment)$/.test(type);
}

/** The transcripts of the client's audio that an event shows, in order. */
export function transcriptsOf(event: RealtimeEvent): readonly string[] {
  const texts: string[] = [];
  withTranscripts(event, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

/**
 * The parts of items whose transcripts an event shows for the first time, as far as it can; null: it repeats earlier ones. A
 * client has an item retrieved as often as it likes.
 */
export function spokenPartsOf(event: RealtimeEvent): readonly string[] | null {
  if (event.type === "conversation.item.retrieved") return null;
  const part = transcribedPart(event);
  if (part !== null) return part === "" ? [] : [part];
  const { id, content } = jsonObjectOf(event["item"]) ?? {};
  if (typeof id !== "string" || id.length > ID_MAX || !Array.isArray(content)) return [];
  return content.flatMap((one: unknown, at) =>
    typeof jsonObjectOf(one)?.["transcript"] === "string" ? [`${id} ${at}`] : [],
  );
}

/** The event with other transcripts of the client's audio. */
export function withTranscripts(event: RealtimeEvent, changed: (text: string) => string): RealtimeEvent {
  const given = jsonObjectOf(event["item"]);
  const { transcript } = event;
  if (typeof transcript === "string" && transcribedPart(event) !== null)
    return { ...event, transcript: changed(transcript) };
  if (given === null || !Array.isArray(given["content"]) || !isOfClient(event)) return event;
  const content = given["content"].map((part: unknown) => {
    const spoken = jsonObjectOf(part)?.["transcript"];
    return typeof spoken === "string" ? { ...jsonObjectOf(part), transcript: changed(spoken) } : part;
  });
  return { ...event, item: { ...given, content } };
}

/** The id of the item of the conversation that an event is about; null: it names none. */
export function itemIdOf({ item_id: id, item }: RealtimeEvent): string | null {
  const named = id ?? jsonObjectOf(item)?.["id"];
  return typeof named === "string" && named.length <= ID_MAX ? named : null;
}

/** Whether an event shows only input of the client itself. */
export function isOfClient(event: RealtimeEvent): boolean {
  const role = jsonObjectOf(event["item"])?.["role"];
  return event.type.startsWith("conversation.item.")
    ? role === "user" || role === "system" || event.type.startsWith("conversation.item.input_audio_transcription.")
    : false;
}

/** Whether an event may show the text of an answer: any but those of settings, limits, audio buffers and errors. */
export function mayShowAnswer({ type }: RealtimeEvent): boolean {
  return !/^(?:(?:transcription_)?session|rate_limits|(?:in|out)put_audio_buffer)\.|^error$|_transcription\.failed$/.test(
    type,
  );
}

/** A longer id of a client's event is not repeated: an id sent once must not be kept for a client that does not read. */
const EVENT_ID_MAX = 512;

/** The event that reports an error (OpenAI's form). `about`: the client's event that caused it. */
export function errorEventOf(error: ErrorBody["error"], id: string, about: unknown = null): RealtimeEvent {
  const { type, code, message, param } = error;
  const event_id = typeof about === "string" && about.length <= EVENT_ID_MAX ? about : null;
  return { type: "error", event_id: `event_${id}`, error: { type, code, message, param, event_id } };
}

/** The end of a response whose content the client does not get. */
export function failedResponse(done: RealtimeEvent, code: ErrorCode, options: ErrorOptions = {}): RealtimeEvent {
  const { error } = errorBody(code, options);
  const status_details = { type: "failed", error: { type: error.type, code } };
  return { ...done, response: { ...jsonObjectOf(done["response"]), output: [], status: "failed", status_details } };
}

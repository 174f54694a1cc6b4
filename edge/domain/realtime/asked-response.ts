/** A client's request in the WebSocket mode of Responses (docs/rules/realtime.md#responses-over-a-websocket). */
import type { FieldFault } from "../request/client-fields.ts";
import { type JsonObject, jsonObjectOf } from "../wire/json/document.ts";
import type { RealtimeEvent } from "./realtime-events.ts";

const LANE_MAX = 64;
const MEMBERS_MAX = 256;
const MODEL_MAX = 200;
const ID_MAX = 1_024;
/** Members that the mode reads, or sets itself. A server that ignores case must find no other value in them. */
const READ = new Set([
  "type",
  "stream_id",
  "generate",
  "background",
  "input",
  "previous_response_id",
  "store",
  "stream",
]);

export interface AskedResponse {
  /** The lane whose events have its name; null: the client names none. */
  readonly lane: string | null;
  /** The body of the same request on `/v1/responses`. Its input, if it has one, is a text or a list. */
  readonly body: JsonObject;
  /** Nothing is generated: its items are kept for the response that continues it. */
  readonly isWarmUp: boolean;
}

/** A fault: it is not such a request. */
export function askedResponse(event: RealtimeEvent): AskedResponse | FieldFault {
  const names = Object.keys(event);
  if (names.length > MEMBERS_MAX) return { param: "type", message: `an event has at most ${MEMBERS_MAX} members` };
  const misspelled = names.find((name) => !READ.has(name) && READ.has(name.toLowerCase()));
  if (misspelled !== undefined)
    return { param: misspelled, message: `${misspelled} must be written ${misspelled.toLowerCase()}` };
  if (names.some((name) => name.toLowerCase() === "response"))
    return { param: "response", message: "response cannot be used: put its members into the event itself" };
  const { type, stream_id: lane = null, generate = true, background, ...body } = event;
  if (type !== "response.create") return { param: "type", message: "type must be response.create" };
  if (lane !== null && (typeof lane !== "string" || lane === "" || lane.length > LANE_MAX))
    return { param: "stream_id", message: `stream_id must be a text of 1 to ${LANE_MAX} characters` };
  if (typeof generate !== "boolean") return { param: "generate", message: "generate must be true or false" };
  if (background !== undefined && background !== null && background !== false)
    return { param: "background", message: "background cannot be used over a WebSocket; leave it out" };
  const { input = [], model = null, previous_response_id: previous } = body;
  // a warm-up repeats it
  if (!generate && model !== null && (typeof model !== "string" || model.length > MODEL_MAX))
    return { param: "model", message: `model must be a text of at most ${MODEL_MAX} characters` };
  if (typeof input !== "string" && !Array.isArray(input))
    return { param: "input", message: "input must be a text or a list" };
  // it waits, and so does the body
  if (typeof previous === "string" && previous.length > ID_MAX)
    return { param: "previous_response_id", message: `previous_response_id has at most ${ID_MAX} characters` };
  return { lane, body: { ...body, stream: true }, isWarmUp: !generate };
}

/** The items of an answer that the next request can repeat: reasoning without its text is nothing to an upstream that kept none. */
export function repeatedItems(output: unknown): readonly unknown[] {
  if (!Array.isArray(output)) return [];
  return output.filter((item: unknown) => {
    const { type, encrypted_content: sealed, content } = jsonObjectOf(item) ?? {};
    return type !== "reasoning" || typeof sealed === "string" || (Array.isArray(content) && content.length > 0);
  });
}

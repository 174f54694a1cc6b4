/**
 * The allowed members of a client's event (docs/rules/realtime.md#events). An event has at most one object that is read:
 * otherwise a server could read another one than the gateway has examined.
 */
import { type FieldFault, spellingFault } from "../request/client-fields.ts";
import { type JsonObject, jsonObjectOf } from "../wire/json/document.ts";
import { printable } from "../wire/text/printable.ts";
import { isTextless, type RealtimeEvent } from "./realtime-events.ts";

/** The objects of an event that are read. */
const READ = ["item", "session", "response"] as const;
/** Members of events without text. Each is a text or a number. */
const TEXTLESS: readonly string[] = [
  "type",
  "event_id",
  "audio",
  "item_id",
  "response_id",
  "content_index",
  "audio_end_ms",
];
/** Members of the other events that no model reads. */
const UNREAD: ReadonlySet<string> = new Set(["type", "event_id", "previous_item_id"]);
const NAME_MAX = 64;
/** Longest id of an event, in characters. */
const ID_MAX = 128;

/** The fault of an event's own members; null: none. */
export function eventFault(event: RealtimeEvent): FieldFault | null {
  const names = Object.keys(event);
  const { event_id: id = null } = event;
  if (id !== null && (typeof id !== "string" || id.length > ID_MAX))
    return { param: "event_id", message: `event_id must be a text of at most ${ID_MAX} characters` };
  if (isTextless(event)) {
    const other = names.find((name) => !TEXTLESS.includes(name) || isComposed(event[name]));
    if (other === undefined) return null;
    const param = printable(other, NAME_MAX);
    return { param, message: `'${param}' cannot be a member of ${printable(event.type, NAME_MAX)}; leave it out` };
  }
  const spelled = spellingFault(names, [...READ, ...TEXTLESS, "previous_item_id"]);
  if (spelled !== null) return spelled;
  const given = READ.filter((name) => event[name] !== undefined && event[name] !== null);
  const [, second] = given;
  if (second !== undefined) return { param: second, message: "an event has only one of item, session and response" };
  const wrong = given.find((name) => jsonObjectOf(event[name]) === null);
  return wrong === undefined ? null : { param: wrong, message: `${wrong} must be an object` };
}

/** What would put texts of the client in another order than they were examined in; null: nothing. */
export function orderFault(event: RealtimeEvent): FieldFault | null {
  const { type, previous_item_id: previous = null, item = null, response } = event;
  const beside = "while a policy examines what the client says";
  if (type === "conversation.item.delete") return { param: "type", message: `items cannot be deleted ${beside}` };
  // its upstream may add none
  if (item !== null && type !== "conversation.item.create")
    return { param: "item", message: `only conversation.item.create adds an item ${beside}; leave item out` };
  if (previous !== null)
    return { param: "previous_item_id", message: `items are added at the end ${beside}; leave previous_item_id out` };
  const input = jsonObjectOf(response)?.["input"];
  return Array.isArray(input) && input.some(isReference)
    ? { param: "response.input", message: `items cannot be referred to ${beside}; write them out` }
    : null;
}

/** An item that refers to another one may have no type. */
function isReference(item: unknown): boolean {
  const { type, content } = jsonObjectOf(item) ?? {};
  return typeof type === "string" ? /reference/i.test(type) : content === undefined;
}

/** The event without the objects that are read; null if nothing else is in it. */
export function besideRead({ item: _1, session: _2, response: _3, ...rest }: RealtimeEvent): JsonObject | null {
  return Object.keys(rest).every((name) => UNREAD.has(name) && !isComposed(rest[name])) ? null : rest;
}

function isComposed(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

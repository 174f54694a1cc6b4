/**
 * Server-sent events (WHATWG HTML, "Server-sent events") that the gateway knows: the usage event that it asked for on
 * the client's behalf (docs/rules/streams.md#usage-event), and the in-band end of a stream that broke.
 */
import type { ErrorBody } from "../../../../shared/errors.ts";
import { isJsonObject, type JsonObject } from "../json/document.ts";

/** A longer event reports more than usage. */
const USAGE_EVENT_MAX_BYTES = 64 * 1024;

/** The event that only reports usage, a JSON object with empty `choices` and a `usage` object; null for any other. */
export function usageEventOf(event: Uint8Array): JsonObject | null {
  if (event.byteLength > USAGE_EVENT_MAX_BYTES) return null;
  const text = new TextDecoder().decode(event);
  if (!text.includes('"usage"')) return null;
  const data = text
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(line[5] === " " ? 6 : 5))
    .join("\n");
  try {
    const value: unknown = JSON.parse(data);
    if (!isJsonObject(value)) return null;
    const { choices, usage } = value;
    return Array.isArray(choices) && choices.length === 0 && typeof usage === "object" && usage !== null ? value : null;
  } catch {
    return null;
  }
}

/** A comment, which clients ignore (docs/rules/streams.md#keep-alive). */
export const KEEP_ALIVE = new TextEncoder().encode(": keep-alive\n\n");

/** The document of a refusal: clients of messages take it for an error only by its `type` (docs/rules/errors.md#error-body). */
export function errorDocument(body: ErrorBody, path: string): object {
  return /\/messages(?:\/|$)/.test(path) ? { type: "error", ...body } : body;
}

/** The routes whose clients read an error only from an event of that name. */
const NAMED_EVENTS = /\/(messages|responses)$/;

/**
 * The in-band end of a stream that broke, in the form of its route (docs/rules/streams.md#broken-streams); `before` ends what may be
 * unfinished.
 */
export function errorEvent(
  { error }: ErrorBody | { readonly error: JsonObject },
  path: string,
  before = "",
): Uint8Array {
  const event = NAMED_EVENTS.test(path)
    ? `event: error\ndata: ${JSON.stringify({ ...error, type: "error", error })}`
    : `data: ${JSON.stringify({ error })}`;
  return new TextEncoder().encode(`${before}${event}\n\n`);
}

/**
 * Server-sent events (WHATWG HTML, "Server-sent events") that the gateway knows: the usage event that it asked for on
 * the client's behalf (docs/rules/streams.md#usage-event), and the comment that keeps a silent stream open.
 */
import { isJsonObject, type JsonObject } from "../json/document.ts";

/** What some readers, such as Python's, take for the end of a line, besides CR and LF. */
export const OTHER_ENDS = String.raw`\v\f\x1c-\x1e\x85\u2028\u2029`;

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

/** Ends half an event, whose reader knows by the comment that it is not whole. Otherwise it has no effect. */
export const CUT_OFF = "\n: cut off\n\n";

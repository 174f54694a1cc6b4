/**
 * Server-sent events (WHATWG HTML, "Server-sent events") that the gateway knows: the usage event that it asked for on
 * the client's behalf (docs/rules/streams.md#usage-event), and the in-band end of a stream that broke.
 */
import type { ErrorBody } from "../../../../shared/errors.ts";

/** True for the event that only reports usage: a JSON object with empty `choices` and a `usage` object. */
export function isUsageEvent(event: Uint8Array): boolean {
  const text = new TextDecoder().decode(event);
  if (!text.includes('"usage"')) return false;
  const data = text
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(line[5] === " " ? 6 : 5))
    .join("\n");
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value !== "object" || value === null) return false;
    const { choices, usage } = value as { choices?: unknown; usage?: unknown };
    return Array.isArray(choices) && choices.length === 0 && typeof usage === "object" && usage !== null;
  } catch {
    return false;
  }
}

/** The routes whose clients read an error only from an event of that name. */
const NAMED_EVENTS = /\/(messages|responses)$/;

/**
 * The in-band end of a stream that broke, in the form of its route (docs/rules/streams.md#broken-streams); `before` ends what may be
 * unfinished.
 */
export function errorEvent({ error }: ErrorBody, path: string, before = ""): Uint8Array {
  const event = NAMED_EVENTS.test(path)
    ? `event: error\ndata: ${JSON.stringify({ ...error, type: "error", error })}`
    : `data: ${JSON.stringify({ error })}`;
  return new TextEncoder().encode(`${before}${event}\n\n`);
}

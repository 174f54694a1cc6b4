/**
 * The usage event of a stream, requested when the client did not request it, and then withheld from that client: only this
 * event shows the tokens of a stream (docs/rules/streams.md#usage-event).
 */
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";
import { usageEventOf } from "../wire/sse/events.ts";
import type { EventShape, ResponseTransform } from "../wire/sse/response-transform.ts";
import type { RequestTransform, TransformPlan, TransformSubject } from "./transform.ts";

/** What every event of a stream has. */
const COMMON: ReadonlySet<string> = new Set([
  "id",
  "object",
  "created",
  "model",
  "choices",
  "system_fingerprint",
  "service_tier",
  "obfuscation",
]);
const NOTHING = new Uint8Array(0);
/** Work for an event, in units: a long one does not report usage. */
const EVENT_UNITS = 64;

/**
 * Removes the usage event from a stream, or the part that belongs only to it. Keeps no state, so one is enough for all streams.
 */
const withholdUsageEvent: ResponseTransform = {
  // A usage event has no choices: an empty list in one line, unless it is spread over several.
  concerns: ({ lines, emptyList }: EventShape) => emptyList || lines > 1,
  event: function* (event) {
    yield EVENT_UNITS;
    const value = usageEventOf(event);
    if (value === null) return event;
    const { usage: _, ...others } = value;
    // llama.cpp's server has its `timings` in the last event of a stream, whichever that is
    if (Object.keys(others).every((name) => COMMON.has(name))) return NOTHING;
    return new TextEncoder().encode(`data: ${JSON.stringify(others)}\n\n`);
  },
};

const NAME = "usage_event";

/** Adds `stream_options.include_usage` to a stream that lacks it, on the routes that know it. */
export const usageEvent = {
  name: NAME,
  members: ["stream_options"],
  plan: ({ route, stream, document, member }: Omit<TransformSubject, "model">): TransformPlan | null => {
    if (!route.usageOption || !stream || requestsUsage(document.root)) return null;
    const given = member("stream_options");
    // without a usage event there is no usage in others either
    const { continuous_usage_stats: _, ...others } = isJsonObject(given) ? given : {};
    const value = { ...others, include_usage: true };
    const edits = new Map([["stream_options", value]]);
    return { name: NAME, edits, optional: true, response: () => withholdUsageEvent };
  },
} satisfies RequestTransform;

/** True when a streaming request itself requests its usage event. */
function requestsUsage(root: JsonObject): boolean {
  const options = root["stream_options"];
  return isJsonObject(options) && options["include_usage"] === true;
}

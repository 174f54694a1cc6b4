/**
 * The usage event of a stream, asked for on the behalf of a client that did not ask for it, and kept from that client: the
 * tokens of a stream are known by it alone (docs/rules/streams.md#usage-event).
 */
import type { JsonObject } from "../json/document.ts";
import { isUsageEvent } from "../sse/events.ts";
import type { EventShape, ResponseTransform } from "../sse/response-transform.ts";
import type { RequestTransform, TransformPlan, TransformSubject } from "./transform.ts";

const NOTHING = new Uint8Array(0);

/** Takes the usage event out of a stream. Keeps nothing, so that one is enough for all streams. */
const withholdUsageEvent: ResponseTransform = {
  // It has no choices: an empty list, in one line if not spread over several.
  concerns: ({ lines, emptyList }: EventShape) => emptyList || lines > 1,
  event: (event) => (isUsageEvent(event) ? NOTHING : event),
};

const PLAN: TransformPlan = {
  name: "usage_event",
  edits: [
    {
      name: "stream_options",
      value: (given) => ({ ...(isObject(given) ? given : {}), include_usage: true }),
    },
  ],
  optional: true,
  response: () => withholdUsageEvent,
};

/** Adds `stream_options.include_usage` to a stream that lacks it, on the routes that know it. */
export const usageEvent = {
  name: PLAN.name,
  members: ["stream_options"],
  plan: ({ route, stream, document }: Omit<TransformSubject, "model">) =>
    route.usageOption && stream && !asksForUsage(document.root) ? PLAN : null,
} satisfies RequestTransform;

/** True when a streaming request already asks for its usage event. */
function asksForUsage(root: JsonObject): boolean {
  const options = root["stream_options"];
  return isObject(options) && options["include_usage"] === true;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

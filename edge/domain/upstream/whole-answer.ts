/**
 * Whether an answer may be given again: it is whole, and contains something (docs/rules/response-cache.md#what-is-stored).
 * An upstream that breaks off, or a defect of it, would be repeated until the entry expires. Pure.
 */
import type { Steps } from "../../../shared/steps.ts";
import { OPEN_BRACE, OPEN_BRACKET, SPACE } from "../../../shared/wire/ascii.ts";
import { EventReader } from "../../../shared/wire/event-reader.ts";
import { parsedInSteps } from "../wire/json/parse-in-steps.ts";
import { isCompleteStream } from "../wire/sse/stream-end.ts";
import { hasResult } from "./answer-failure.ts";

/** Work for one event. */
const EVENT_UNITS = 16;

/** `events`: the body is an event stream. */
export function* isWholeAnswer(body: Uint8Array, contentType: string, events: boolean): Steps<boolean> {
  if (!events) {
    const first = body.find((byte) => byte > SPACE);
    if (!/json/i.test(contentType) && first !== OPEN_BRACE && first !== OPEN_BRACKET) return first !== undefined;
    return hasResult(yield* parsedInSteps(new TextDecoder().decode(body)));
  }
  if (!isCompleteStream(body)) return false;
  for (const data of new EventReader(body.byteLength).push(body)) {
    yield EVENT_UNITS;
    if (hasResult(yield* parsedInSteps(data))) return true;
  }
  return false;
}

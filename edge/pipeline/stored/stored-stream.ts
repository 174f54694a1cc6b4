/**
 * The stream of a stored answer, from one of its events on (docs/rules/routes.md#streams-of-stored-answers). The gateway reads
 * the answer from its start, because a text may have started before that event, and because all of it counts; its client gets
 * the later events only.
 */
import type { Steps } from "../../../shared/steps.ts";
import { readEvent } from "../../domain/message-texts/answer-events.ts";
import { isJsonObject } from "../../domain/wire/json/document.ts";
import type { ResponseTransform } from "../../domain/wire/sse/response-transform.ts";
import { SseFilter } from "../../domain/wire/sse/sse-filter.ts";
import type { AnswerStage } from "../call/boon/answer-stage.ts";
import type { Call } from "../call/context.ts";
import { inTurns } from "../call/in-turns.ts";
import { isEventStream } from "../reply/response-headers.ts";
import { fieldError } from "../resolve-model/field-error.ts";

const STARTING_AFTER = "starting_after";
const NOTHING = new Uint8Array(0);

interface StoredStream {
  readonly isStream: boolean;
  /** Null: from the start. */
  readonly startingAfter: number | null;
}

/** The request of a query. Throws 400 for an invalid place. */
export function storedStreamOf({ request, search }: Call): StoredStream {
  const query = new URLSearchParams(search);
  const places = query.getAll(STARTING_AFTER);
  const startingAfter = places.length === 0 ? null : Number(places[0]);
  const isPlace = places.length < 2 && /^\d{1,15}$/.test(places[0] ?? "0");
  if (!isPlace)
    throw fieldError({ param: STARTING_AFTER, message: `${STARTING_AFTER} must be a whole number, at least 0` });
  return { isStream: request.method === "GET" && query.get("stream") === "true", startingAfter };
}

/** The query without the place. */
export function fromBeginning(search: string): string {
  const query = new URLSearchParams(search);
  query.delete(STARTING_AFTER);
  return `?${query.toString()}`;
}

/** Leaves out the events up to this one. */
export function laterEvents(call: Call, startingAfter: number): AnswerStage {
  let isLater = false;
  const later: ResponseTransform = {
    concerns: () => true,
    event: function* (bytes): Steps<Uint8Array> {
      const { value } = yield* readEvent(bytes);
      const at = isJsonObject(value) ? value["sequence_number"] : null;
      // text that a policy has held back has the number of the event in which it started
      isLater ||= typeof at !== "number" || at > startingAfter;
      return isLater ? bytes : NOTHING;
    },
  };
  return async (answer) => {
    if (!isEventStream(answer.contentType)) return answer;
    const filter = new SseFilter([later], true);
    const filtering = new TransformStream<Uint8Array, Uint8Array>({
      transform: async (chunk, controller) => {
        const passed = await inTurns(call, filter.pushing(chunk));
        if (passed.byteLength > 0) controller.enqueue(passed);
      },
      flush: async (controller) => {
        const last = await inTurns(call, filter.finishing());
        if (last.byteLength > 0) controller.enqueue(last);
      },
    });
    return { ...answer, body: answer.body.pipeThrough(filtering) };
  };
}

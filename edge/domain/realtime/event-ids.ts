/**
 * The ids by which an upstream names the client's events (docs/rules/realtime.md#events): each starts with a unique number,
 * followed by the client's id. So no event can be taken for another one, whatever ids its client sends.
 */
import { type JsonObject, jsonObjectOf } from "../wire/json/document.ts";
import type { RealtimeEvent } from "./realtime-events.ts";

/** Prefix of the ids of the gateway's own events; their errors are not the client's. */
export const OWN_EVENT = "event_gateway_";

const NUMBERED = /^event_(\d+)_(.*)$/s;

export interface NumberedEvent extends RealtimeEvent {
  readonly event_id: string;
}

export class EventIds {
  #count = 0;

  /** The event as its upstream gets it. */
  numbered(event: RealtimeEvent): NumberedEvent {
    this.#count += 1;
    const { event_id: given } = event;
    return { ...event, event_id: `event_${this.#count}_${typeof given === "string" ? given : ""}` };
  }
}

/** The number of an event of the client in its session; null for other ids. */
export function numberOf(id: string): number | null {
  const number = NUMBERED.exec(id)?.[1];
  return number === undefined ? null : Number(number);
}

/** The id of the event, as it was sent, that an error of the upstream names; null: it names none of those. */
export function refusedIdOf({ error }: RealtimeEvent): string | null {
  const id = jsonObjectOf(error)?.["event_id"];
  return typeof id === "string" && (NUMBERED.test(id) || id.startsWith(OWN_EVENT)) ? id : null;
}

/** The error with the id that the client gave its event. */
export function withGivenId(event: RealtimeEvent): RealtimeEvent {
  const given = NUMBERED.exec(refusedIdOf(event) ?? "")?.[2];
  if (given === undefined) return event;
  const error: JsonObject = { ...jsonObjectOf(event["error"]), event_id: given === "" ? null : given };
  return { ...event, error };
}

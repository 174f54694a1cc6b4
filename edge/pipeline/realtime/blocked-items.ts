/**
 * Items of the conversation whose transcript a policy has blocked (docs/rules/realtime.md#guardrails): the gateway has its upstream
 * delete them, and until that has, no response may run.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import type { GatewayError } from "../../../shared/errors.ts";
import { OWN_EVENT } from "../../domain/realtime/event-ids.ts";
import { itemIdOf, type RealtimeEvent } from "../../domain/realtime/realtime-events.ts";

export class BlockedItems {
  readonly #uuid: () => string;
  /** By the id of the event that deletes the item. */
  readonly #waiting = new Map<string, { readonly itemId: string; readonly refusal: GatewayError }>();

  constructor(uuid: () => string) {
    this.#uuid = uuid;
  }

  /** The refusal of a response that starts now; null: nothing blocks it. */
  get refusal(): GatewayError | null {
    const [waiting] = this.#waiting.values();
    return waiting?.refusal ?? null;
  }

  /** The event that deletes the item of this event. Throws the refusal when that is not possible. */
  block(event: RealtimeEvent, refusal: GatewayError): RealtimeEvent {
    const itemId = itemIdOf(event);
    if (itemId === null || this.#waiting.size >= LIMITS.realtimeResponses) throw refusal;
    const id = `${OWN_EVENT}delete_${this.#uuid()}`;
    this.#waiting.set(id, { itemId, refusal });
    return { type: "conversation.item.delete", event_id: id, item_id: itemId };
  }

  /** The event that ends a response. */
  cancelling(responseId: string): RealtimeEvent {
    const about = responseId === "" ? {} : { response_id: responseId };
    return { type: "response.cancel", event_id: `${OWN_EVENT}cancel_${this.#uuid()}`, ...about };
  }

  /** An item was removed. */
  deleted(event: RealtimeEvent): void {
    for (const [id, { itemId }] of this.#waiting) if (itemId === itemIdOf(event)) this.#waiting.delete(id);
  }

  /** Whether an event that the upstream refuses is the gateway's. Throws the refusal of an item that is not deleted by that. */
  isOwn(eventId: string): boolean {
    const waiting = this.#waiting.get(eventId);
    if (waiting !== undefined) throw waiting.refusal;
    return eventId.startsWith(OWN_EVENT);
  }
}

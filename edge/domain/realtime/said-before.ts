/**
 * What the client's items have said, as far as the next one may continue it (docs/rules/realtime.md#guardrails): the end of their
 * text, and which of them is the last.
 */
import { NewestById } from "../cell/recent-ids.ts";

/** Characters of what was said before that a match can begin in. */
const SAID_MAX = 1_024;
/** Events with items whose refusal may still come: more than a client can send within some seconds. */
const EVENTS_KEPT = 1_024;

interface Said {
  /** The end of the text. */
  readonly text: string;
  /** The id that the client gave its last item; null: it gave none, or has said something since. */
  readonly itemId: string | null;
}

export class SaidBefore {
  #said: Said = { text: "", itemId: null };
  /** The event with the last item, and what was said before it. */
  #last: { readonly eventId: string; readonly before: Said } | null = null;
  /** Events with items. */
  readonly #events = new NewestById<true>(EVENTS_KEPT);

  get text(): string {
    return this.#said.text;
  }

  get itemId(): string | null {
    return this.#said.itemId;
  }

  /** An item goes to the upstream, by which all texts are these. `eventId`: that of its event; null: the upstream has it already. */
  add(text: string, eventId: string | null, itemId: unknown): void {
    const said = { text: endOf(text), itemId: typeof itemId === "string" ? itemId : null };
    // without it the same was said
    if (said.text !== this.#said.text) {
      this.#last = eventId === null ? null : { eventId, before: this.#said };
      if (eventId !== null) this.#events.set(eventId, true);
    }
    this.#said = said;
  }

  /** The upstream has refused an event. Returns whether it is known what was said without it. */
  refused(eventId: string): boolean {
    if (this.#events.take(eventId) === null) return true;
    if (this.#last?.eventId !== eventId) return false;
    this.#said = this.#last.before;
    this.#last = null;
    return true;
  }
}

/** Begins with a word, if it is one of many: a part of one could be taken for something else. */
function endOf(text: string): string {
  return text.length <= SAID_MAX ? text : text.slice(-SAID_MAX).replace(/^\S*\s/, "");
}

/**
 * What the client's items have said, as far as the next one may continue it (docs/rules/realtime.md#guardrails): the end of their
 * text.
 */
import { NewestById } from "../cell/recent-ids.ts";
import { numberOf } from "./event-ids.ts";

/** Characters of what was said before that a match can begin in. */
const SAID_MAX = 1_024;
/** The word before them is kept up to this length: a part of it could be taken for something else. */
const WORD_MAX = 64;
/** Events with items whose refusal may still come: more than a client can send within some seconds. */
const EVENTS_KEPT = 1_024;
/** Parts of items whose transcripts are remembered. */
const SPOKEN_KEPT = 1_024;

export class SaidBefore {
  /** The end of the text. */
  #text = "";
  /** The event with the last item, and what was said before it. */
  #last: { readonly eventId: string; readonly before: string } | null = null;
  /** Events with items. */
  readonly #events = new NewestById<true>(EVENTS_KEPT);
  /** The number of the last one that is forgotten. */
  #forgotten = 0;
  readonly #spoken = new NewestById<true>(SPOKEN_KEPT);

  get text(): string {
    return this.#text;
  }

  /**
   * An item goes to the upstream, with which all texts are these. `eventId`: that of its event; null: the upstream has it already.
   */
  add(text: string, eventId: string | null): void {
    // it has no text
    if (text === this.#text) return;
    this.#last = eventId === null ? null : { eventId, before: this.#text };
    if (eventId !== null) this.#note(eventId);
    this.#text = endOf(text);
  }

  #note(eventId: string): void {
    const [oldest = ""] = this.#events.keys();
    if (this.#events.size === EVENTS_KEPT) this.#forgotten = numberOf(oldest) ?? this.#forgotten;
    this.#events.set(eventId, true);
  }

  /** Whether the transcript of a part of an item is shown for the first time; now it was. */
  isNewlySpoken(part: string): boolean {
    const isNew = !this.#spoken.has(part);
    this.#spoken.set(part, true);
    return isNew;
  }

  /** The upstream has refused an event; null: it does not say which. Returns whether it is known what was said without it. */
  refused(eventId: string | null): boolean {
    if (eventId === null) return this.#events.size === 0;
    if (this.#events.take(eventId) === null) return (numberOf(eventId) ?? Infinity) > this.#forgotten;
    if (this.#last?.eventId !== eventId) return false;
    this.#text = this.#last.before;
    this.#last = null;
    return true;
  }
}

/** The last characters, and the beginning of the word in which they begin. */
function endOf(text: string): string {
  const [word = ""] = /\S*$/.exec(text.slice(-SAID_MAX - WORD_MAX, -SAID_MAX)) ?? [];
  return text.slice(-SAID_MAX - word.length);
}

/**
 * What changes a stream of server-sent events on its way to the client. Without a transform a stream is piped natively;
 * with one, every byte of the stream passes through JavaScript. So a transform is created only for a request that needs it.
 */

import type { Steps } from "../../../../shared/steps.ts";

/** What is known of an event without decoding it. */
export interface EventShape {
  /** Lines that it has, without the blank one at its end. */
  readonly lines: number;
  /** One line contains an empty JSON list. */
  readonly emptyList: boolean;
}

/** Changes one answer. Sees its events in order, and keeps no bytes that it was given beyond the call. */
export interface ResponseTransform {
  /**
   * Called for every event. False: this transform does not change the event. When no transform is concerned, the event is
   * neither copied nor decoded; when another one is, `event` gets it all the same and returns it as it is.
   */
  concerns(event: EventShape): boolean;
  /**
   * Returns what is sent in place of an event: the same bytes, others, or none. The event has its blank line unless the
   * stream ended within it.
   */
  event(event: Uint8Array): Steps<Uint8Array>;
}

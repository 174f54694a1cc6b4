/**
 * What changes a stream of server-sent events on its way to the client. Without a transform a stream is piped natively;
 * with one, every byte of the stream passes through JavaScript. So a transform is created only for a request that needs it.
 */

import type { Steps } from "../../../../shared/steps.ts";

/** Facts of an event that are known without decoding it. */
export interface EventShape {
  /** Its lines, without the blank one at its end. */
  readonly lines: number;
  /** One line contains an empty JSON list. */
  readonly emptyList: boolean;
}

/** Changes one answer. Sees its events in order, and keeps no bytes that it was given beyond the call. */
export interface ResponseTransform {
  /**
   * Called for every event. False: this transform does not change the event. When no transform is concerned, the event is
   * neither copied nor decoded; when another one is, `event` still gets it and returns it unchanged.
   */
  concerns(event: EventShape): boolean;
  /**
   * Returns the replacement of an event: the same bytes, others, or none. The event has its blank line unless the stream ended
   * within it.
   */
  event(event: Uint8Array): Steps<Uint8Array>;
}

/**
 * What changes a stream of server-sent events on its way to the client. Without a transform a stream is piped natively;
 * with one, every byte of the stream passes through JavaScript. So a transform is created only for a request that needs it.
 */

/** What is known of an event without decoding it. */
export interface EventShape {
  /** Lines that it has, without the blank one at its end. */
  readonly lines: number;
  /** One line contains an empty JSON list. */
  readonly emptyList: boolean;
}

/** Changes one answer. Sees its events in order, and keeps no bytes that it was given beyond the call. */
export interface ResponseTransform {
  /** False: the event passes as it is, and is neither copied nor decoded. Called for every event. */
  concerns(event: EventShape): boolean;
  /**
   * Returns what is sent in place of an event: the same bytes, others, or none. The event has its blank line unless the
   * stream ended within it.
   */
  event(event: Uint8Array): Uint8Array;
}

/**
 * What changes a stream of server-sent events on its way to the client. Without one a stream is piped natively, so that a
 * transform costs every byte of its stream a way through JavaScript: it is made only for a request that needs it.
 */

/** What is known of an event without decoding it. */
export interface EventShape {
  /** Lines that it has, without the blank one at its end. */
  readonly lines: number;
  /** It has an empty JSON list in one line. */
  readonly emptyList: boolean;
}

/** Of one answer. Sees its events in order, and keeps no bytes that it was given beyond the call. */
export interface ResponseTransform {
  /**
   * Called for every event. False: this transform does not change the event. When no transform is concerned, the event is
   * neither copied nor decoded; when another one is, `event` gets it all the same and returns it as it is.
   */
  concerns(event: EventShape): boolean;
  /** What goes on instead of an event, which has its blank line unless the stream ended within it: the same bytes, others, or none. */
  event(event: Uint8Array): Uint8Array;
}

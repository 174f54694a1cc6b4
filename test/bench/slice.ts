/**
 * What the bench tells its load generator, and what it hears back: one target under one load for a moment. Plain data that
 * crosses a process boundary. A slice never leaves a request behind: what was sent has ended when its result is there.
 */

/** How answers are read: whole; as a stream to its `[DONE]`; or as one whose events say when they were written. */
export type SliceReading = "whole" | "stream" | "timed-stream";

/** In a body, stands for text that no other request has. */
export const FRESH = "@fresh-text@";

export interface Slice {
  readonly url: string;
  /** Header sets, taken in turn: one per tenant. */
  readonly headers: readonly Readonly<Record<string, string>>[];
  readonly body: string;
  /** Of this share of the requests, {@link FRESH} in the body is replaced by text of their own. */
  readonly freshShare: number;
  readonly reading: SliceReading;
  readonly concurrency: number;
  /** No request starts later than this, once there were enough; 0: each client sends one. */
  readonly durationMs: number;
  /** So many are sent, however long they take. */
  readonly leastRequests: number;
}

export interface SliceResult {
  readonly sent: number;
  readonly endedWell: number;
  /**
   * From the first call to the end of the last answer: a rate over it counts every answer, also of a target whose answers
   * take a good part of the turn.
   */
  readonly elapsedMs: number;
  /** What went wrong, and how often. */
  readonly failures: Readonly<Record<string, number>>;
  /** From the call to the last byte. */
  readonly latencyMs: Float64Array;
  /** From the call to the first byte of the body; of streams only. */
  readonly firstMs: Float64Array;
  /** What each gap between two events lost or gained on its way, without sign; of timed streams only. */
  readonly addedGapMs: Float64Array;
  /** The longest silence in any stream; of timed streams only. */
  readonly longestGapMs: number;
}

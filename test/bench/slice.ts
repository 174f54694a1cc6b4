/**
 * The message from the bench to its load generator, and the answer: one target under one load for a short time. Plain data
 * that crosses a process boundary. A slice never leaves a request behind: all its requests have ended when its result is
 * sent.
 */

/**
 * How answers are read: whole; as a stream up to its `[DONE]`; or as a stream whose events contain the time at which they
 * were written.
 */
export type SliceReading = "whole" | "stream" | "timed-stream";

/** In a body it stands for a text that no other request has. */
export const FRESH = "@fresh-text@";

export interface Slice {
  readonly url: string;
  /** Sets of headers, used in turn: one per tenant. */
  readonly headers: readonly Readonly<Record<string, string>>[];
  readonly body: string;
  /** In this share of the requests, {@link FRESH} in the body is replaced by a text of their own. */
  readonly freshShare: number;
  readonly reading: SliceReading;
  readonly concurrency: number;
  /** No request starts later than this, once the least number was sent; 0: each client sends one request. */
  readonly durationMs: number;
  /** At least this many requests are sent, however long they take. */
  readonly leastRequests: number;
}

export interface SliceResult {
  readonly sent: number;
  readonly endedWell: number;
  /**
   * From the first call to the end of the last answer. So a rate over it counts every answer, also for a target whose
   * answers take a large part of the turn.
   */
  readonly elapsedMs: number;
  /** What went wrong, and how often. */
  readonly failures: Readonly<Record<string, number>>;
  /** From the call to the last byte, by request. */
  readonly latencyMs: Float64Array;
  /** From the call to the first byte of the body; for streams only. */
  readonly firstMs: Float64Array;
  /** The time that each gap between two events lost or gained on the way, without sign; for timed streams only. */
  readonly addedGapMs: Float64Array;
  /** The longest pause in any stream; for timed streams only. */
  readonly longestGapMs: number;
}

/**
 * What a relay is given and what it answers: the vocabulary between the step and its two ways of moving bytes.
 */
import type { ResponseTransform } from "../../domain/sse/response-transform.ts";
import type { SharedTimer } from "../timers/shared-timer.ts";
import type { AttemptCancellation } from "../upstream/attempt-cancellation.ts";

/** How a body ended: whole, cut by the upstream or the deadline, or no longer wanted. */
export type BodyEnd = "complete" | "broken" | "gone";

/** What a relay works on. */
export interface RelayJob {
  readonly body: ReadableStream<Uint8Array>;
  readonly cancellation: AttemptCancellation;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly timer: SharedTimer;
  /** A client that takes nothing for so long, while something is there for it, is cut off, ms; 0: never. */
  readonly stalledReaderMs: number;
  /** The client reads server-sent events: a break can be reported in-band. */
  readonly events: boolean;
  /** What changes the events on their way; none of any other answer. */
  readonly transforms: readonly ResponseTransform[];
  /** Sees every byte of the upstream, before anything is changed. */
  readonly onUpstream: (chunk: Uint8Array) => void;
  /** Sees every byte that the client gets. */
  readonly onClient: (chunk: Uint8Array) => void;
}

export interface RelayedBody {
  readonly readable: ReadableStream<Uint8Array>;
  /** Never rejects. */
  readonly ended: Promise<BodyEnd>;
}

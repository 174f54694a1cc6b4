/**
 * What a relay is given and what it answers: the vocabulary between the step and its two ways of moving bytes.
 */
import type { SharedTimer } from "../timers/shared-timer.ts";
import type { AttemptCancellation } from "../upstream/attempt-cancellation.ts";

/** How a body ended: whole, cut by the upstream or the deadline, or no longer wanted. */
export type BodyEnd = "complete" | "broken" | "gone";

/** What a relay works on. */
export interface RelayJob {
  readonly body: ReadableStream<Uint8Array>;
  readonly stop: AttemptCancellation;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly timer: SharedTimer;
  /** A client that takes nothing for so long, while something is there for it, is cut off, ms; 0: never. */
  readonly stalledReaderMs: number;
  /** The client reads server-sent events: a break can be told in-band. */
  readonly events: boolean;
  /** The usage event is the gateway's own and is kept from the client. */
  readonly withholdUsage: boolean;
  /** Sees every byte of the upstream, before anything is withheld. */
  readonly onUpstream: (chunk: Uint8Array) => void;
  /** Sees every byte that the client gets. */
  readonly onClient: (chunk: Uint8Array) => void;
}

export interface RelayedBody {
  readonly readable: ReadableStream<Uint8Array>;
  /** Never rejects. */
  readonly ended: Promise<BodyEnd>;
}

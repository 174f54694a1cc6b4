/** The input and the result of a relay: the types between step 8 and its two ways of moving bytes. */
import type { ResponseTransform } from "../../domain/wire/sse/response-transform.ts";
import type { SharedTimer } from "../call/shared-timer.ts";
import type { AttemptCancellation } from "../forward/attempt-cancellation.ts";
import type { ByteTurns } from "./byte-turns.ts";

/** How a body ended: whole, cut by the upstream or the deadline, or no longer wanted. */
export type BodyEnd = "complete" | "broken" | "gone";

/** The input of a relay. */
export interface RelayJob {
  /** Of the request: its route decides the form of an in-band error. */
  readonly path: string;
  readonly requestId: string;
  readonly body: ReadableStream<Uint8Array>;
  /** The read part of the body. */
  readonly head: Uint8Array<ArrayBuffer>;
  readonly cancellation: AttemptCancellation;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly timer: SharedTimer;
  readonly turns: ByteTurns;
  /** A client that takes nothing for this long while data waits for it is cut off, ms; 0: never. */
  readonly stalledReaderMs: number;
  /** The client of a pumped stream that has had nothing for this long gets a comment, ms; 0: never. */
  readonly keepAliveMs: number;
  /** Whether the client reads server-sent events: then a break can be reported in-band. */
  readonly events: boolean;
  /** Transforms that change the events on their way; empty for every other answer. */
  readonly transforms: readonly ResponseTransform[];
  /** Whether the stream has shown its end: when its upstream call ends after that, nothing is missing. */
  readonly isWhole: () => boolean;
  /** Called with every byte of the upstream, before anything is changed. A pump waits for it before it writes them. */
  readonly onUpstream: (chunk: Uint8Array) => Promise<void> | undefined;
  /** Called with every byte that the client gets. */
  readonly onClient: (chunk: Uint8Array) => void;
  /** The fault of a body that broke off, in words for the client; null: it just ended early. */
  readonly fault?: () => string | null;
}

export interface RelayedBody {
  readonly readable: ReadableStream<Uint8Array>;
  /** Never rejects. */
  readonly ended: Promise<BodyEnd>;
}

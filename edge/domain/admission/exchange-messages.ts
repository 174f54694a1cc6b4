/**
 * The messages between an isolate and its Cell, one exchange after another (docs/rules/admission.md#exchanges): admission
 * requests, ends with their rows, departures, cache hits and rows without a permit; and the answers. Plain data only. The
 * Cell decides every admission request, in order: nothing is granted anywhere else.
 */
import type { RevItem } from "../../../shared/internal.ts";
import type { UsageRow } from "../../../shared/usage-row.ts";
import type { BucketLevel } from "../budget/token-bucket.ts";
import type { UpstreamOutcomes } from "../upstream/attempt-outcomes.ts";
import type { AdmissionRequest, CacheHit, Decision, Settlement, Stale } from "./rpc.ts";

/** A usage row, and how the attempts at upstreams of its request ended. */
export interface RowRecord {
  readonly row: UsageRow;
  readonly upstream?: UpstreamOutcomes | undefined;
}

/** What has been collected since the last exchange, each list in its order. */
export interface ExchangeMessage {
  /** Ends of requests that were admitted in this session. */
  readonly ends: readonly Settlement[];
  /** Requests of this session that leave without an end of their own: they are settled like those of a lost permit. */
  readonly departures: readonly string[];
  /** Rows of requests that never had a permit. */
  readonly records: readonly RowRecord[];
  readonly hits: readonly CacheHit[];
  readonly asks: readonly AdmissionRequest[];
}

/**
 * The answer to an admission request. `waiting`: it has a place; the decision follows in a later answer of the session, or
 * by a permit that the request takes for itself (`CellApi.hold`). A grant counts as in use from the answer on that contains
 * it.
 */
export type AdmissionAnswer = Decision | Stale | { readonly verdict: "waiting" };

/** Whether a stored answer may be sent. */
export type CacheHitDecision =
  | { readonly verdict: "current"; readonly level: BucketLevel | null }
  | { readonly verdict: "stale"; readonly items: readonly RevItem[] };

/** What was decided or stored of a session since its last answer; all by request id. */
export interface ExchangeAnswer {
  /**
   * Admission requests of this exchange, and earlier ones that waited. One of this exchange that is missing was not
   * received and has no place: it is to be sent in another way.
   */
  readonly decided: readonly (readonly [requestId: string, answer: AdmissionAnswer])[];
  /** Hits of this exchange and earlier ones. */
  readonly hits: readonly (readonly [requestId: string, verdict: CacheHitDecision])[];
  /** Requests whose rows are on the disk of the Ledger. */
  readonly stored: readonly string[];
  /** Requests whose rows were not taken: the isolate sends them in another way. */
  readonly refused: readonly string[];
}

/**
 * A session of an isolate with its Cell, as a capability: when the context that holds it ends, the Cell settles the
 * requests that are open in it once, at their estimate where they were granted.
 */
export interface ExchangeSession extends Disposable {
  /** Answers at once, with every admission request decided. Throws when the session is over. */
  exchange(message: ExchangeMessage): Promise<ExchangeAnswer>;
  /** Answers as soon as there is something more to report. Rejects when the Cell is reset. */
  news(): Promise<ExchangeAnswer>;
  /** Ends the session; what is still open in it is settled as in a lost session. */
  close(): Promise<void>;
}

/** What a Cell offers for exchanges. */
export interface ExchangeApi {
  /** Opens a session with its first exchange. */
  openSession(
    message: ExchangeMessage,
  ): Promise<{ readonly session: ExchangeSession; readonly answer: ExchangeAnswer }>;
}

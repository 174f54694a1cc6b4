/**
 * The messages between an isolate and its Cell, one exchange after another (docs/rules/admission.md#exchanges): admission
 * requests, ends with their rows, departures, cache hits and rows of requests that asked for no slot; and the answers. Plain
 * data only. The Cell decides every admission request, in order: nothing is granted anywhere else. An unanswered message is
 * sent again in the next session, and the Cell knows each request by its id, so no message counts twice.
 */

import type { UsageRow } from "../../../shared/usage/usage-row.ts";
import type { RevItem } from "../../../shared/wire/internal.ts";
import type { BucketLevel } from "../budget/token-bucket.ts";
import type { UpstreamOutcomes } from "../upstream/attempt-outcomes.ts";
import type { AdmissionRequest, CacheHit, Decision, Settlement, Stale } from "./rpc.ts";

/** A usage row, and how the attempts at upstreams of its request ended. */
export interface RowRecord {
  readonly row: UsageRow;
  readonly upstream?: UpstreamOutcomes | undefined;
}

/**
 * Who opens a session, and what it knows of its requests (docs/rules/admission.md#membership). A member has one session at a
 * time: once a new one opens, the Cell takes no message of an earlier one, so it reads all messages in the order in which they
 * were sent.
 */
export interface SessionOpening {
  /** The isolate. */
  readonly member: string;
  /** How long it keeps slots that it cannot renew, ms; absent where a broken connection shows its end. */
  readonly leaseMs?: number | undefined;
  /** Its waiting requests: the Cell sends its decisions on them again. */
  readonly waiting: readonly string[];
  /** Its requests that hold a slot, or were refused. */
  readonly running: readonly string[];
  /** Its requests that ask, and those that have ended and whose rows it still keeps. Requests that it does not name are gone. */
  readonly others: readonly string[];
}

/** A request that leaves without an end. */
export interface Departure {
  readonly requestId: string;
  /** Its code is gone. False: it was told that the Cell is unavailable; it has used nothing, and its row goes another way. */
  readonly isLost: boolean;
  /** The request with its grant, because the Cell may not know of it; null: it was granted nothing. */
  readonly held: AdmissionRequest | null;
}

/** Everything collected since the last exchange, each list in its order. */
export interface ExchangeMessage {
  /** Numbers the messages of a member in order: a session that an older message opens is refused. */
  readonly n: number;
  /** Ends of requests, and rows that may have been sent before. */
  readonly ends: readonly Settlement[];
  readonly departures: readonly Departure[];
  /** Rows of requests that asked for no slot. */
  readonly records: readonly RowRecord[];
  readonly hits: readonly CacheHit[];
  /** Requests that have a slot, and sub-calls, which the Cell did not know: it counts them, even above the cap. */
  readonly returns: readonly AdmissionRequest[];
  readonly asks: readonly AdmissionRequest[];
}

/** The answer to an admission request. `waiting`: it has a place; the decision follows in a later answer. */
export type AdmissionAnswer = Decision | Stale | { readonly verdict: "waiting" };

/** Whether a stored answer may be sent. */
export type CacheHitDecision =
  | { readonly verdict: "current"; readonly level: BucketLevel | null }
  | { readonly verdict: "stale"; readonly items: readonly RevItem[] };

/** Everything decided or stored for a member since the last answer, by request id. */
export interface ExchangeAnswer {
  /**
   * Admission requests of this exchange, and earlier ones that waited. `ask`: the number of the ask that is answered; absent:
   * the ask in this message.
   */
  readonly decided: readonly (readonly [requestId: string, answer: AdmissionAnswer, ask?: number | undefined])[];
  /** Hits of this exchange and earlier ones. */
  readonly hits: readonly (readonly [requestId: string, verdict: CacheHitDecision])[];
  /** Requests whose rows are on the disk of the Ledger. */
  readonly stored: readonly string[];
  /** Requests whose rows were not taken: the isolate sends them in another way. */
  readonly refused: readonly string[];
  /** Running requests of the member that this Cell does not know. */
  readonly unknown: readonly string[];
}

/**
 * A session of a member with its Cell, as a capability: the wire, and nothing more. When the context that holds it ends, the
 * runtime tells the Cell, and the member has some time to open another one.
 */
export interface ExchangeSession extends Disposable {
  /** Answers at once, with every admission request decided. Throws when the session is over. */
  exchange(message: ExchangeMessage): Promise<ExchangeAnswer>;
  /** Answers as soon as there is something more to report. Rejects when the Cell is reset. */
  news(): Promise<ExchangeAnswer>;
  close(): Promise<void>;
}

/** The Cell's methods for exchanges. */
export interface ExchangeApi {
  /** Opens a session with its first exchange. */
  openSession(
    member: SessionOpening,
    message: ExchangeMessage,
  ): Promise<{ readonly session: ExchangeSession; readonly answer: ExchangeAnswer }>;
}

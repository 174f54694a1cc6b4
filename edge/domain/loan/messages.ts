/**
 * What travels between an isolate and its Cell about loans (design §12): slots and tokens that the Cell lends below
 * saturation, so that a request takes one without an object call, and is told about afterwards. Plain data only. One
 * message at a time is under way in a session, so messages need no numbers.
 */
import type { RevItem } from "../../../shared/internal.ts";
import type { UsageRow } from "../../../shared/usage-row.ts";
import type { Ask, Settlement } from "../ask.ts";
import type { Amounts } from "../budget/amounts.ts";
import type { BucketLevel } from "../budget/token-bucket.ts";

/** A loan is good for this long after the message that renewed it was sent, on the isolate's clock. */
export const LOAN_MS = 300;
/** The Cell counts from the arrival of that message, and this much longer: an isolate's clock stands while it computes. */
export const LOAN_MARGIN_MS = 450;

/** What all requests of one key on one model share; they are lent slots together. */
export type Shape = Pick<Ask, "tenant" | "group" | "model" | "revs" | "limits">;

/** What is told of a request that took a lent slot and still runs. */
export interface Taken extends Pick<Ask, "requestId" | "costTokens" | "need" | "estimate"> {
  /** The shape's number in its session. */
  readonly shape: number;
  /** Skeleton of the usage row, as of an {@link Ask}. */
  readonly row: UsageRow;
}

/** A request that has ended. */
export interface Ended {
  readonly requestId: string;
  /** Null: it was told as taken before. */
  readonly taken: Omit<Taken, "row" | "estimate"> | null;
  readonly settlement: Settlement;
  /** Its row was sent another way too. */
  readonly orphan: boolean;
  /** It asked for a permit of its own: if the Cell knows nothing of that, its slot comes back all the same. */
  readonly left: boolean;
}

/** What a shape wants to have lent besides what it has. */
export interface Wish {
  readonly shape: number;
  readonly slots: number;
  /** Of the budgets; nothing when its allowance suffices. */
  readonly amounts: Amounts;
  /** An allowance that does not cover this is of no use. */
  readonly atLeast: Amounts;
}

/** From the isolate, every few ms while it has something to tell, and to renew its loans. */
export interface Told {
  /** Shapes named for the first time, by their number. */
  readonly shapes: readonly (readonly [number, Shape])[];
  readonly taken: readonly Taken[];
  readonly ended: readonly Ended[];
  /** Free slots that the isolate has let go of, by shape. */
  readonly returned: readonly (readonly [number, number])[];
  /** Shapes whose loan the isolate has dropped: its slots come back as they are free, what is left of its allowance at once. */
  readonly dropped: readonly number[];
  readonly wishes: readonly Wish[];
}

/** What a wish got. */
export interface Lent {
  readonly shape: number;
  /** Besides those it has. */
  readonly slots: number;
  /** Besides those it has; null: none. */
  readonly amounts: Amounts | null;
  /** The tenant's bucket without any allowance that is out; null without a per-minute cap, or when it is not known. */
  readonly level: BucketLevel | null;
}

/** The Cell's answer; it renews what the session holds. */
export interface Renewal {
  readonly lent: readonly Lent[];
  /** Requests whose rows have become durable since the last answer. */
  readonly durable: readonly string[];
  /** The message came after the loans had ended: everything that was free has gone back already. */
  readonly expired: boolean;
  /** Loans that the Cell has called in and of which it does not know yet that they are dropped. */
  readonly called: readonly number[];
}

/** What the Cell asks back, at once; the answer means that no request will take a slot of it any more. */
export interface Recall {
  /** Loans built on any of these records; null: every loan. */
  readonly items: readonly RevItem[] | null;
}

/** The isolate's side of a session, as the Cell calls it. */
export interface Debtor {
  recall(recall: Recall): Promise<void>;
}

/** A session over RPC; it is lost with its holder's stub. */
export interface LoanSession extends Disposable {
  tell(told: Told): Promise<Renewal>;
  /** The last word: no request of the session runs any more. Answers once every row told is durable. */
  close(told: Told): Promise<void>;
}

/** The lending surface of the Cell object. */
export interface LendingApi {
  borrow(debtor: Debtor): Promise<{ readonly session: LoanSession }>;
}

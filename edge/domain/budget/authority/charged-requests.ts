/**
 * Requests that more than one life of a Cell reports. One life lost contact with a request and settled it by the estimate, or
 * it ended; later lives adopted it and settled it again. Reports may be lost and may arrive in any order. This remembers what
 * each request was charged and which life holds its reservation, so that a request is charged once - the largest reported use -
 * and what it had drawn is returned once (docs/rules/budgets.md#settlement).
 */
import { type ActualUsage, isNothing, larger, minus, NOTHING_USED, plus, USED, USED_FIELDS } from "../amounts.ts";
import { amount, flag, type Of, orAbsent, orNull, record } from "../shapes.ts";

/** What is known of one request, and its charge. */
export const REQUEST_CHARGE = record({
  ...USED_FIELDS,
  /** Its end was reported: any other report about it is older. */
  ended: flag,
  /** What it had drawn has been returned. A life that adopts it later holds it afresh, and older lives hold nothing of it. */
  returned: flag,
  /** The newest life of its Cell that adopted it; null: none did. */
  holder: orNull(amount),
  /** Of its charge, what the buckets do not know yet: what it had drawn covers it until that is returned. */
  covered: orAbsent(USED),
});
type RequestCharge = Of<typeof REQUEST_CHARGE>;

/** A life's report of a request that it has lost contact with, or that has ended. */
export interface ReportedRequest {
  readonly id: string;
  /** It may still run. */
  readonly goesOn: boolean;
  /** True: `used` counts from the last report of this life about it. False: it is all that the request used. */
  readonly since: boolean;
  readonly used: ActualUsage;
  /** What it had drawn from the buckets. */
  readonly drawn: ActualUsage;
}

/** The effects of such a report. */
interface ChargeDue {
  readonly used: ActualUsage;
  /** What the buckets are debited. */
  readonly debit: ActualUsage;
  /** Whether what it had drawn returns to the buckets. */
  readonly returns: boolean;
  /** Whether the reporting life still holds what the request had drawn. */
  readonly releases: boolean;
}

/**
 * How many of the latest are remembered: more than nearly every tenant has running in one Cell, and few enough to store.
 */
const REMEMBERED = 1_000;
const UNKNOWN: RequestCharge = { tokens: 0, nanoUsd: 0, ended: false, returned: false, holder: null };

export class ChargedRequests {
  readonly #byId: Map<string, RequestCharge>;
  #changed = false;

  constructor(stored: readonly (readonly [requestId: string, charged: RequestCharge])[]) {
    this.#byId = new Map(stored);
  }

  /** All of them, the latest last, if any has changed since the last call; else null. */
  takeChanged(): readonly (readonly [requestId: string, charged: RequestCharge])[] | null {
    const changed = this.#changed;
    this.#changed = false;
    return changed ? [...this.#byId] : null;
  }

  /**
   * Notes that a life adopts a request, and returns where its drawn amount is. `older`: with older lives, to be taken over.
   * `nowhere`: it has been returned, so this life holds it afresh. `newer`: with a newer life, so this life holds nothing.
   */
  adopted(requestId: string, life: number): "older" | "nowhere" | "newer" {
    const known = this.#byId.get(requestId) ?? UNKNOWN;
    if (known.holder !== null && known.holder > life) return "newer";
    this.#remember(requestId, { ...known, holder: life });
    return known.returned ? "nowhere" : "older";
  }

  reported({ id, goesOn, since, used, drawn }: ReportedRequest, life: number): ChargeDue {
    const known = this.#byId.get(id) ?? UNKNOWN;
    const releases = known.holder === null || life >= known.holder;
    const returns = releases && !known.returned;
    const due = since && !known.ended ? used : minus(used, known);
    const returned = known.returned || returns;
    const total = plus<ActualUsage>(known, due);
    const debited = minus<ActualUsage>(known, known.covered ?? NOTHING_USED);
    const owed = returned ? total : larger(debited, minus(total, drawn));
    const covered = minus(total, owed);
    this.#remember(id, {
      ...total,
      ended: known.ended || !goesOn,
      returned,
      holder: known.holder,
      ...(isNothing(covered) ? {} : { covered }),
    });
    return { used: due, debit: minus(owed, debited), returns, releases };
  }

  #remember(requestId: string, charged: RequestCharge): void {
    this.#changed = true;
    this.#byId.delete(requestId);
    this.#byId.set(requestId, charged);
    const [oldest] = this.#byId.keys();
    if (this.#byId.size > REMEMBERED && oldest !== undefined) this.#byId.delete(oldest);
  }
}

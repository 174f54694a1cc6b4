/**
 * Requests of which more than one life of a Cell tells: one lost sight of them and settled them by the estimate, or
 * ended, and later ones adopted them and settled them again. What is told may be lost, and may be heard in any order.
 * Remembers of each what it was charged and where its reservation is, so that it is charged once - the largest of what
 * was told - and what it had drawn comes back once (docs/rules/budgets.md#settlement).
 */
import { type ActualUsage, beyondUsed, plusUsed } from "./amounts.ts";

/** What is known of one request, and what it was charged. */
export interface RequestCharge extends ActualUsage {
  /** Its end was told: whatever else is told of it is of before. */
  readonly ended: boolean;
  /** What it had drawn has come back: lives that adopt it later hold it besides, and older ones hold none of it. */
  readonly returned: boolean;
  /** The newest life of its Cell that adopted it; null: none did. */
  readonly holder: number | null;
}

/** What a life of a Cell says of a request that it has lost sight of, or that has ended. */
export interface ReportedRequest {
  readonly id: string;
  /** It may still run. */
  readonly goesOn: boolean;
  /** `used` is counted from the last time that this life told of it; else it is all that it used. */
  readonly since: boolean;
  readonly used: ActualUsage;
  /** What it had drawn from the bucket. */
  readonly drawnTokens: number;
}

/** What that comes to. */
interface ChargeDue {
  readonly used: ActualUsage;
  /** Tokens that go back to the bucket. */
  readonly returnedTokens: number;
  /** Whether the life that tells it still holds what the request had drawn. */
  readonly releases: boolean;
}

/** The latest are remembered: more than a tenant has under way in one Cell, but for few, and little enough to store. */
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
   * A life adopts a request. Answers where what it had drawn is: with older lives, to be taken over; nowhere any more, so that
   * this life holds it anew; or with a newer life, so that this one holds nothing.
   */
  adopted(requestId: string, life: number): "older" | "nowhere" | "newer" {
    const known = this.#byId.get(requestId) ?? UNKNOWN;
    if (known.holder !== null && known.holder > life) return "newer";
    this.#remember(requestId, { ...known, holder: life });
    return known.returned ? "nowhere" : "older";
  }

  /** A life tells what a request used. */
  reported({ id, goesOn, since, used, drawnTokens }: ReportedRequest, life: number): ChargeDue {
    const known = this.#byId.get(id) ?? UNKNOWN;
    const releases = known.holder === null || life >= known.holder;
    const returns = releases && !known.returned;
    const due = since && !known.ended ? used : beyondUsed(used, known);
    this.#remember(id, {
      ...plusUsed(known, due),
      ended: known.ended || !goesOn,
      returned: known.returned || returns,
      holder: known.holder,
    });
    return { used: due, returnedTokens: returns ? drawnTokens : 0, releases };
  }

  #remember(requestId: string, charged: RequestCharge): void {
    this.#changed = true;
    this.#byId.delete(requestId);
    this.#byId.set(requestId, charged);
    const [oldest] = this.#byId.keys();
    if (this.#byId.size > REMEMBERED && oldest !== undefined) this.#byId.delete(oldest);
  }
}

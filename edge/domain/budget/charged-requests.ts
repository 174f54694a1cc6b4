/**
 * Requests whose end may be told more than once: their Cell lost sight of them and settled them by the estimate, and lives of it
 * that adopted them settled them again, in whatever order that is heard. Remembers what they were charged, so that each is
 * charged once: the largest of what was told (decisions §43.6).
 */
import { type Actual, beyondUsed, plusUsed } from "./amounts.ts";
import type { SettleLine } from "./api.ts";

/** What was charged of one request. */
export interface Charged extends Actual {
  /** Its end was told: whatever else is told of it is of before. */
  readonly ended: boolean;
}

/** The latest are remembered: more than a tenant loses at once, and little enough to store. */
const REMEMBERED = 1_000;

export class ChargedRequests {
  readonly #byId: Map<string, Charged>;

  constructor(stored: readonly (readonly [requestId: string, charged: Charged])[]) {
    this.#byId = new Map(stored);
  }

  /** The latest last. */
  get all(): readonly (readonly [requestId: string, charged: Charged])[] {
    return [...this.#byId];
  }

  /**
   * What is to be charged for a settled line, and how many tokens of what it had drawn go back to the bucket: none of a request
   * that was settled before, because they went back then.
   */
  due({ request, used, released }: SettleLine): { readonly used: Actual; readonly returnedTokens: number } {
    if (request === undefined) return { used, returnedTokens: released.bucketTokens };
    const { id, goesOn, since } = request;
    const before = this.#byId.get(id);
    if (before === undefined) {
      this.#remember(id, { ...used, ended: !goesOn });
      return { used, returnedTokens: released.bucketTokens };
    }
    const due = since && !before.ended ? used : beyondUsed(used, before);
    this.#remember(id, { ...plusUsed(before, due), ended: before.ended || !goesOn });
    return { used: due, returnedTokens: 0 };
  }

  #remember(requestId: string, charged: Charged): void {
    this.#byId.delete(requestId);
    this.#byId.set(requestId, charged);
    const [oldest] = this.#byId.keys();
    if (this.#byId.size > REMEMBERED && oldest !== undefined) this.#byId.delete(oldest);
  }
}

/** The purses of one wallet: the tenant's, and those of keys that have caps of their own. Made when first wanted. */
import type { SettleLine } from "./api.ts";
import type { Outbox } from "./outbox.ts";
import { Purse } from "./purse.ts";

export class Purses {
  readonly #outbox: Outbox;
  readonly #returnLine: (line: SettleLine, nowMs: number) => void;
  readonly #byId = new Map<string | null, Purse>();

  /** `returnLine` takes the lines that give back what is unspent. */
  constructor(outbox: Outbox, returnLine: (line: SettleLine, nowMs: number) => void) {
    this.#outbox = outbox;
    this.#returnLine = returnLine;
  }

  /** Null is the tenant's. */
  of(id: string | null): Purse {
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    const purse = new Purse(id, this.#outbox, this.#returnLine);
    this.#byId.set(id, purse);
    return purse;
  }

  get all(): readonly Purse[] {
    return [...this.#byId.values()];
  }

  get idle(): boolean {
    return this.all.every((purse) => purse.idle);
  }

  /** Tokens of the bucket that are held in all. */
  get heldTokens(): number {
    let held = 0;
    for (const purse of this.#byId.values()) held += purse.held.bucketTokens;
    return held;
  }

  /** Forgets those that hold nothing and that nobody waits for. */
  forgetIdle(): void {
    for (const purse of this.#byId.values()) if (purse.idle) this.#byId.delete(purse.id);
  }

  /** A request wants to draw from none of them any more. */
  forget(requestId: string): void {
    for (const purse of this.#byId.values()) purse.waiting.forget(requestId);
  }

  /** Whether a request waits for one of them, or is about to. */
  knows(requestId: string): boolean {
    for (const purse of this.#byId.values()) if (purse.waiting.knows(requestId)) return true;
    return false;
  }

  /** When one of them has something to do by itself; null: never. */
  get nextMs(): number | null {
    let next: number | null = null;
    for (const { endsAtMs } of this.#byId.values()) {
      if (endsAtMs !== null && (next === null || endsAtMs < next)) next = endsAtMs;
    }
    return next;
  }
}

/**
 * The slot of a call, or its place in the queue, under the lease of its isolate (docs/rules/admission.md#leases-of-isolates). When
 * the lease ends while the call runs, the slot is lost: whatever runs upstream for the call is ended, and nothing more is started.
 * On one machine there are no leases, and no slot is lost.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { SlotLease, SlotLeases } from "../../ports.ts";

export class SlotHold {
  readonly #leases: SlotLeases | undefined;
  readonly #listeners = new Set<() => void>();
  #lease: SlotLease | null = null;
  #failure: GatewayError | null = null;

  constructor(leases: SlotLeases | undefined) {
    this.#leases = leases;
  }

  /** What the client is told because the slot was lost; null: it was not. */
  get failure(): GatewayError | null {
    return this.#failure;
  }

  /** Begins a new lease; call it before the Cell is asked. */
  begin(): void {
    if (this.#leases === undefined) return;
    this.#lease?.release();
    this.#lease = this.#leases.begin();
  }

  /** Renews the lease while the request waits. */
  keepPlace(): void {
    this.#lease?.watch(() => undefined);
  }

  /** Whether a grant that has come is worth anything: the lease has not ended meanwhile. */
  async isHeld(): Promise<boolean> {
    return this.#lease === null || (await this.#lease.isHeld());
  }

  /** Renews the lease while the request runs; the slot is lost when it ends. */
  keepSlot(): void {
    this.#lease?.watch(() => this.#lose());
  }

  /** The slot was given back, or there is none. */
  release(): void {
    this.#lease?.release();
  }

  /** Calls `listener` when the slot is lost, at once when it was lost before. The returned function cancels that. */
  listen(listener: () => void): () => void {
    if (this.#failure !== null) listener();
    else this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The slot is that of another call, on whose behalf this one is made: when that loses it, this one has. */
  follow(parent: SlotHold): void {
    parent.listen(() => this.#lose());
  }

  #lose(): void {
    this.#failure ??= new GatewayError("scheduler_unavailable");
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}

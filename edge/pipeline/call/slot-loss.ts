/**
 * The loss of the slot of a call (docs/rules/admission.md#leases-of-isolates): whatever runs upstream for the call is ended, and
 * nothing more is started. On one machine no slot is lost.
 */
import { GatewayError } from "../../../shared/errors.ts";

export class SlotLoss {
  readonly #listeners = new Set<() => void>();
  #failure: GatewayError | null = null;

  /** What the client is told because the slot was lost; null: it was not. */
  get failure(): GatewayError | null {
    return this.#failure;
  }

  /** Calls `listener` when the slot is lost, at once when it was lost before. The returned function cancels that. */
  listen(listener: () => void): () => void {
    if (this.#failure !== null) listener();
    else this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  lose(): void {
    this.#failure ??= new GatewayError("scheduler_unavailable");
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}

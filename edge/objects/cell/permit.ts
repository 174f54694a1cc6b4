/**
 * The slot, or the place in the queue, as a capability over RPC. It dies with its holder: when the last stub is disposed
 * the runtime calls `[Symbol.dispose]`, and what was not settled is settled by the Cell. Calls here are one step deep;
 * every decision is the controller's.
 */
import { RpcTarget } from "cloudflare:workers";
import type { Decision, PermitHandle, Settlement, Stale } from "../../domain/admission/rpc.ts";

/** What a permit asks of its Cell. `Entry` is the controller's own record of one arrival, which a permit only hands back. */
interface PermitController<Entry> {
  decision(entry: Entry): Promise<Decision | Stale>;
  inUse(entry: Entry): void;
  settle(entry: Entry, settlement: Settlement): Promise<void>;
  /** The holder is gone. A no-op for a permit that was settled or replaced. */
  abandon(entry: Entry): void;
}

/** The answer to a call for the decision whose holder settled meanwhile: it is read by nothing, and an error would be logged. */
const SETTLED: Stale = { verdict: "stale", items: [] };

export class Permit<Entry> extends RpcTarget implements PermitHandle {
  readonly #controller: PermitController<Entry>;
  readonly #entry: Entry;
  #settled = false;
  /** Kept, because the runtime rejects a promise that can no longer be settled: a collection of garbage is no loss of the permit. */
  readonly #alive = Promise.withResolvers<never>();

  constructor(controller: PermitController<Entry>, entry: Entry) {
    super();
    this.#controller = controller;
    this.#entry = entry;
  }

  async decision(): Promise<Decision | Stale> {
    try {
      return await this.#controller.decision(this.#entry);
    } catch (error) {
      if (this.#settled) return SETTLED;
      throw error;
    }
  }

  async inUse(): Promise<void> {
    this.#controller.inUse(this.#entry);
  }

  async lost(): Promise<never> {
    return await this.#alive.promise;
  }

  async settle(settlement: Settlement): Promise<void> {
    this.#settled = true;
    await this.#controller.settle(this.#entry, settlement);
  }

  [Symbol.dispose](): void {
    this.#controller.abandon(this.#entry);
  }
}

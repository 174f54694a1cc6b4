/**
 * The slot, or the place in the queue, as an RPC capability. It ends with its holder: when the last stub is disposed,
 * the runtime calls `[Symbol.dispose]`, and the Cell settles what was not settled. The methods here only forward; the
 * controller makes every decision.
 */
import { RpcTarget } from "cloudflare:workers";
import type { Decision, PermitHandle, Settlement, Stale } from "../../domain/admission/rpc.ts";

/**
 * What a permit calls at its Cell. `Entry` is the controller's own record of one arrival; the permit returns it
 * unchanged.
 */
interface PermitController<Entry> {
  decision(entry: Entry): Promise<Decision | Stale>;
  inUse(entry: Entry): void;
  /** The holder has its decision, and waits for the loss of the permit. */
  watched(entry: Entry): void;
  settle(entry: Entry, settlement: Settlement): Promise<void>;
  /** The stub was disposed, or its connection has ended. Does nothing for a permit that was settled or replaced. */
  disconnected(entry: Entry): void;
}

/**
 * The answer to a call for the decision when the holder settled meanwhile: no code reads it, and an error would be
 * logged.
 */
const SETTLED: Stale = { verdict: "stale", items: [] };

export class Permit<Entry> extends RpcTarget implements PermitHandle {
  readonly #controller: PermitController<Entry>;
  readonly #entry: Entry;
  #settled = false;
  /**
   * Kept because the runtime rejects a promise that can no longer be settled: garbage collection must not look like the
   * loss of the permit.
   */
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
    this.#controller.watched(this.#entry);
    return await this.#alive.promise;
  }

  async settle(settlement: Settlement): Promise<void> {
    this.#settled = true;
    await this.#controller.settle(this.#entry, settlement);
  }

  [Symbol.dispose](): void {
    this.#controller.disconnected(this.#entry);
  }
}

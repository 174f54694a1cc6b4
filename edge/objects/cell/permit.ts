/**
 * The slot, or the place in the queue, as a capability over RPC. It dies with its holder: when the last stub is disposed
 * the runtime calls `[Symbol.dispose]`, and what was not settled is settled by the Cell. Calls here are one step deep;
 * every decision is the controller's.
 */
import { RpcTarget } from "cloudflare:workers";
import type { Decision, PermitHandle, Settlement, Stale } from "../../domain/admission/rpc.ts";

/** What a permit asks of its Cell. `Seat` is the controller's own record of one arrival; nobody else looks inside. */
interface PermitController<Seat> {
  decision(seat: Seat): Promise<Decision | Stale>;
  inUse(seat: Seat): void;
  settle(seat: Seat, settlement: Settlement): Promise<void>;
  /** The holder is gone. A no-op for a permit that was settled or replaced. */
  abandon(seat: Seat): void;
}

/** What a call hears that waited for the decision when its holder ended it: nobody listens, and an error would be logged. */
const SETTLED: Stale = { verdict: "stale", items: [] };

export class Permit<Seat> extends RpcTarget implements PermitHandle {
  readonly #desk: PermitController<Seat>;
  readonly #seat: Seat;
  #settled = false;
  /** Kept, because the runtime rejects a promise that nobody can settle any more: a collection of garbage is no loss. */
  readonly #alive = Promise.withResolvers<never>();

  constructor(desk: PermitController<Seat>, seat: Seat) {
    super();
    this.#desk = desk;
    this.#seat = seat;
  }

  async decision(): Promise<Decision | Stale> {
    try {
      return await this.#desk.decision(this.#seat);
    } catch (error) {
      if (this.#settled) return SETTLED;
      throw error;
    }
  }

  async inUse(): Promise<void> {
    this.#desk.inUse(this.#seat);
  }

  async lost(): Promise<never> {
    return await this.#alive.promise;
  }

  async settle(settlement: Settlement): Promise<void> {
    this.#settled = true;
    await this.#desk.settle(this.#seat, settlement);
  }

  [Symbol.dispose](): void {
    this.#desk.abandon(this.#seat);
  }
}

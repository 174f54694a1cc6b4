/**
 * The slot, or the place in the queue, as a capability over RPC. It dies with its holder: when the last stub is disposed
 * the runtime calls `[Symbol.dispose]`, and what was not settled is settled by the Cell. Calls here are one step deep;
 * every decision is the desk's.
 */
import { RpcTarget } from "cloudflare:workers";
import type { Grant, PermitHandle, Settlement } from "../domain/ask.ts";

/** What a permit asks of its Cell. */
export interface PermitDesk {
  granted(requestId: string): Promise<Grant>;
  upstreamCalled(requestId: string): void;
  settle(requestId: string, settlement: Settlement): Promise<void>;
  /** The holder is gone. A no-op for a permit that was settled. */
  abandon(requestId: string): void;
}

export class Permit extends RpcTarget implements PermitHandle {
  readonly #desk: PermitDesk;
  readonly #requestId: string;

  constructor(desk: PermitDesk, requestId: string) {
    super();
    this.#desk = desk;
    this.#requestId = requestId;
  }

  async granted(): Promise<Grant> {
    return await this.#desk.granted(this.#requestId);
  }

  async upstreamCalled(): Promise<void> {
    this.#desk.upstreamCalled(this.#requestId);
  }

  async lost(): Promise<never> {
    return await new Promise<never>(() => {});
  }

  async settle(settlement: Settlement): Promise<void> {
    await this.#desk.settle(this.#requestId, settlement);
  }

  [Symbol.dispose](): void {
    this.#desk.abandon(this.#requestId);
  }
}

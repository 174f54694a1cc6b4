/**
 * The Cell's front desk: who holds a slot, who waits, and what happens at the end of each. Decisions are the scheduler's;
 * this file keeps the people it decides about. Invariant: every request is in `#seats` from its arrival until its one
 * settlement, and its slot is released in the same turn as the seat is given up - before any await.
 */
import type { UsageRow } from "../../shared/usage-row.ts";
import type { Ask, Grant, Settlement } from "../domain/ask.ts";
import { orphanedSettlement, settledRow } from "../domain/cell/permit-end.ts";
import type { Arrival, Scheduler, SchedulerEvent } from "../domain/fairshare/types.ts";
import type { PermitDesk } from "./permit.ts";

interface Seat {
  readonly ask: Ask;
  readonly arrivedMs: number;
  grant: Grant | null;
  upstreamCalled: boolean;
  readonly waiters: { resolve(grant: Grant): void; reject(error: Error): void }[];
}

export interface DeskOptions {
  readonly cell: string;
  readonly scheduler: Scheduler;
  readonly now: () => number;
  /** Takes a completed row on its way; resolves when it is durable. */
  readonly complete: (row: UsageRow) => Promise<void>;
  /** Told after every change of what is held or waits. */
  readonly changed: () => void;
}

export class AdmissionDesk implements PermitDesk {
  readonly #options: DeskOptions;
  readonly #seats = new Map<string, Seat>();

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** Seats a request; answers its grant when it was granted in this turn, else null: it waits. */
  arrive(ask: Ask): Grant | null {
    this.#seats.set(ask.requestId, this.#seat(ask, null));
    this.apply({ type: "arrive", arrival: arrivalOf(ask) });
    return this.#seats.get(ask.requestId)?.grant ?? null;
  }

  /** Counts a slot that was in use before this Cell started. */
  adopt(ask: Ask): void {
    const seat = this.#seat(ask, {
      admission: ask.row.admission === "queued" ? "queued" : "fast",
      queueWaitMs: ask.row.queue_wait_ms,
    });
    seat.upstreamCalled = true;
    this.#seats.set(ask.requestId, seat);
    this.apply({ type: "adopt", arrival: arrivalOf(ask) });
  }

  /** Applies an event and tells those whom it grants. */
  apply(event: SchedulerEvent): void {
    for (const { requestId, admission, queueWaitMs } of this.#options.scheduler.apply(event, this.#options.now())) {
      const seat = this.#seats.get(requestId);
      if (seat === undefined) continue;
      seat.grant = { admission, queueWaitMs: Math.round(queueWaitMs) };
      for (const waiter of seat.waiters.splice(0)) waiter.resolve(seat.grant);
    }
    this.#options.changed();
  }

  async granted(requestId: string): Promise<Grant> {
    const seat = this.#seats.get(requestId);
    if (seat === undefined) throw new Error("the permit has ended");
    if (seat.grant !== null) return seat.grant;
    return await new Promise<Grant>((resolve, reject) => seat.waiters.push({ resolve, reject }));
  }

  upstreamCalled(requestId: string): void {
    const seat = this.#seats.get(requestId);
    if (seat !== undefined) seat.upstreamCalled = true;
  }

  async settle(requestId: string, settlement: Settlement): Promise<void> {
    const seat = this.#leave(requestId, settlement.actualTokens);
    if (seat === null) return;
    const queuedMs = Math.max(0, Math.round(this.#options.now() - seat.arrivedMs));
    await this.#options.complete(settledRow(settlement, seat.grant, this.#options.cell, queuedMs));
  }

  abandon(requestId: string): void {
    const seat = this.#seats.get(requestId);
    if (seat === undefined) return;
    const nowMs = this.#options.now();
    const state = { granted: seat.grant !== null, upstreamCalled: seat.upstreamCalled, arrivedMs: seat.arrivedMs };
    const settlement = orphanedSettlement(seat.ask, state, nowMs);
    this.#leave(requestId, settlement.actualTokens);
    const row = settledRow(settlement, seat.grant, this.#options.cell, Math.max(0, Math.round(nowMs - seat.arrivedMs)));
    void this.#options.complete(row).catch(() => undefined);
  }

  get seated(): number {
    return this.#seats.size;
  }

  #seat(ask: Ask, grant: Grant | null): Seat {
    return { ask, arrivedMs: this.#options.now(), grant, upstreamCalled: false, waiters: [] };
  }

  #leave(requestId: string, actualTokens: number): Seat | null {
    const seat = this.#seats.get(requestId);
    if (seat === undefined) return null;
    this.#seats.delete(requestId);
    for (const waiter of seat.waiters.splice(0)) waiter.reject(new Error("the permit has ended"));
    this.apply(seat.grant === null ? { type: "leave", requestId } : { type: "release", requestId, actualTokens });
    return seat;
  }
}

function arrivalOf(ask: Ask): Arrival {
  const { requestId, tenant, group, model, costTokens } = ask;
  return { requestId, tenant, group, model, costTokens };
}

/**
 * The Cell's front desk: who holds a slot, who waits, and what happens at the end of each. Decisions are the scheduler's;
 * this file keeps the people it decides about. Invariant: every request is in `#seats` from its arrival until its one
 * settlement, and its slot is released in the same turn as the seat is given up - before any await. A request that asks
 * again (its first answer was lost) takes the place of its earlier seat, whose permit then means nothing.
 */
import type { UsageRow } from "../../shared/usage-row.ts";
import type { Ask, Grant, Settlement } from "../domain/ask.ts";
import { orphanedSettlement, settledRow } from "../domain/cell/permit-end.ts";
import type { Arrival, Scheduler, SchedulerEvent } from "../domain/fairshare/types.ts";
import type { UpstreamOutcomes } from "../domain/upstream-outcomes.ts";
import type { PermitDesk } from "./permit.ts";

/** One arrival. Only the desk reads it; a permit just hands it back. */
export interface Seat {
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
  /** Takes a completed row on its way; resolves when it is durable. `orphan`: its Worker may have sent a row of its own. */
  readonly complete: (row: UsageRow, orphan: boolean, upstream?: UpstreamOutcomes) => Promise<void>;
  /** Told after every change of what is held or waits. */
  readonly changed: () => void;
}

export class AdmissionDesk implements PermitDesk<Seat> {
  readonly #options: DeskOptions;
  readonly #seats = new Map<string, Seat>();

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** Seats a request; its seat has a grant when it was granted in this turn, else it waits. */
  arrive(ask: Ask): Seat {
    const seat = this.#take(ask, null);
    this.apply({ type: "arrive", arrival: arrivalOf(ask) });
    return seat;
  }

  /** Counts a slot that was in use before this Cell started. */
  adopt(ask: Ask): Seat {
    const admission = ask.row.admission === "queued" ? "queued" : "fast";
    const seat = this.#take(ask, { admission, queueWaitMs: ask.row.queue_wait_ms });
    seat.upstreamCalled = true;
    this.apply({ type: "adopt", arrival: arrivalOf(ask) });
    return seat;
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

  async granted(seat: Seat): Promise<Grant> {
    if (!this.#isSeated(seat)) throw new Error("the permit has ended");
    if (seat.grant !== null) return seat.grant;
    return await new Promise<Grant>((resolve, reject) => seat.waiters.push({ resolve, reject }));
  }

  upstreamCalled(seat: Seat): void {
    seat.upstreamCalled = true;
  }

  async settle(seat: Seat, settlement: Settlement): Promise<void> {
    if (!this.#leave(seat, settlement.actualTokens)) return;
    const queuedMs = Math.max(0, Math.round(this.#options.now() - seat.arrivedMs));
    const row = settledRow(settlement, seat.grant, this.#options.cell, queuedMs);
    await this.#options.complete(row, false, settlement.upstream);
  }

  abandon(seat: Seat): void {
    const nowMs = this.#options.now();
    const state = { granted: seat.grant !== null, upstreamCalled: seat.upstreamCalled, arrivedMs: seat.arrivedMs };
    const settlement = orphanedSettlement(seat.ask, state, nowMs);
    if (!this.#leave(seat, settlement.actualTokens)) return;
    const row = settledRow(settlement, seat.grant, this.#options.cell, Math.max(0, Math.round(nowMs - seat.arrivedMs)));
    // Whoever only waited has nothing to settle; a holder may have handed its row in by another way.
    void this.#options.complete(row, state.granted).catch(() => undefined);
  }

  /** The request was settled by another way than its permit: its slot comes back, its permit writes no row. */
  settledElsewhere(requestId: string, actualTokens: number): void {
    const seat = this.#seats.get(requestId);
    if (seat !== undefined) this.#leave(seat, actualTokens);
  }

  get seated(): number {
    return this.#seats.size;
  }

  #take(ask: Ask, grant: Grant | null): Seat {
    const earlier = this.#seats.get(ask.requestId);
    if (earlier !== undefined) this.#leave(earlier, 0);
    const seat: Seat = { ask, arrivedMs: this.#options.now(), grant, upstreamCalled: false, waiters: [] };
    this.#seats.set(ask.requestId, seat);
    return seat;
  }

  #isSeated(seat: Seat): boolean {
    return this.#seats.get(seat.ask.requestId) === seat;
  }

  /** True for the one caller that ends the seat. */
  #leave(seat: Seat, actualTokens: number): boolean {
    const { requestId } = seat.ask;
    if (!this.#isSeated(seat)) return false;
    this.#seats.delete(requestId);
    for (const waiter of seat.waiters.splice(0)) waiter.reject(new Error("the permit has ended"));
    this.apply(seat.grant === null ? { type: "leave", requestId } : { type: "release", requestId, actualTokens });
    return true;
  }
}

function arrivalOf(ask: Ask): Arrival {
  const { requestId, tenant, group, model, costTokens } = ask;
  return { requestId, tenant, group, model, costTokens };
}

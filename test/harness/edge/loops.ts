/** A Cell whose tenants keep requests open in parallel loops; time is simulated. Counts what each tenant was granted. */

import { createScheduler } from "../../../edge/domain/fairshare/scheduler.ts";
import type { Scheduler, SchedulerGrant } from "../../../edge/domain/fairshare/types.ts";
import type { FairshareAlgorithm } from "../../../shared/fairshare/entitled-slots.ts";
import { IndexedHeap } from "../../../shared/fairshare/indexed-heap.ts";

/** What a request is, without its tenant. */
interface LoopRequest {
  readonly tenant: string;
  readonly group?: string;
  readonly model?: string;
  readonly admissionWeight?: number;
  readonly costTokens?: number;
  /** What it uses; by default its estimate. */
  readonly actualTokens?: number;
  /** Leaves its queue, or gives its slot back unused, this long after its arrival. */
  readonly cancelledMs?: number;
}

interface Open {
  readonly request: LoopRequest;
  readonly again: boolean;
  granted: boolean;
}

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** How long requests run, in turn: 100 ms on average. */
const SERVICE_MS = [100, 93, 107, 98, 102, 85, 115] as const;

export class LoopCell {
  readonly #scheduler: Scheduler;
  readonly #timers = new IndexedHeap<Timer>((a, b) => a.atMs - b.atMs || a.order - b.order);
  readonly #open = new Map<string, Open>();
  readonly #granted = new Map<string, number>();
  #nowMs = 0;
  #made = 0;

  constructor(algorithm: FairshareAlgorithm, slots: number) {
    this.#scheduler = createScheduler({ algorithm, maxInFlight: slots });
  }

  /** Opens requests, each of which is followed by another one as soon as it ends. */
  loops(count: number, open: LoopRequest): void {
    for (let at = 0; at < count; at += 1) this.request(open, true);
  }

  request(request: LoopRequest, again = false): void {
    this.#made += 1;
    const requestId = `r${this.#made}`;
    this.#open.set(requestId, { request, again, granted: false });
    const { tenant, group = "g", model = "m", admissionWeight = 100, costTokens = 100 } = request;
    const arrival = {
      requestId,
      tenant: { id: tenant, name: tenant, weight: 100, maxInFlight: null },
      group: { name: group, weight: 100 },
      model: { name: model, admissionWeight, maxInFlight: null },
      costTokens,
    };
    if (request.cancelledMs !== undefined) this.after(request.cancelledMs, () => this.#cancel(requestId));
    this.#take(this.#scheduler.apply({ type: "arrive", arrival }, this.#nowMs));
  }

  after(ms: number, run: () => void): void {
    this.#made += 1;
    this.#timers.put({ atMs: this.#nowMs + ms, order: this.#made, run });
  }

  /** Lets time pass; returns what each of the tenants was granted meanwhile. */
  pass(ms: number, tenants: readonly string[]): number[] {
    const before = new Map(this.#granted);
    const untilMs = this.#nowMs + ms;
    for (let next = this.#timers.peek(); next !== undefined && next.atMs <= untilMs; next = this.#timers.peek()) {
      this.#timers.remove(next);
      this.#nowMs = next.atMs;
      next.run();
    }
    this.#nowMs = untilMs;
    return tenants.map((tenant) => (this.#granted.get(tenant) ?? 0) - (before.get(tenant) ?? 0));
  }

  #take(grants: readonly SchedulerGrant[]): void {
    for (const { requestId } of grants) {
      const open = this.#open.get(requestId);
      if (open === undefined) continue;
      open.granted = true;
      const { tenant, costTokens = 100, actualTokens = costTokens, cancelledMs } = open.request;
      // A request that used nothing does not count as served.
      if (cancelledMs === undefined && actualTokens > 0)
        this.#granted.set(tenant, (this.#granted.get(tenant) ?? 0) + 1);
      this.after(SERVICE_MS[this.#made % SERVICE_MS.length] ?? 100, () => this.#end(requestId, actualTokens));
    }
  }

  #cancel(requestId: string): void {
    const open = this.#open.get(requestId);
    if (open?.granted === true) {
      this.#end(requestId, 0);
      return;
    }
    this.#open.delete(requestId);
    this.#take(this.#scheduler.apply({ type: "leave", requestId }, this.#nowMs));
  }

  #end(requestId: string, actualTokens: number): void {
    const open = this.#open.get(requestId);
    if (open === undefined) return;
    this.#open.delete(requestId);
    this.#take(this.#scheduler.apply({ type: "release", requestId, actualTokens }, this.#nowMs));
    if (open.again) this.request(open.request, true);
  }
}

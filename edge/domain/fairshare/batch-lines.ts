/**
 * Lines of batches in a Cell (docs/rules/batches.md#slots): which wait, and which hold a slot. They are outside every share and
 * every queue: a line is granted only a slot that no waiting request could use, and that is not headroom. Lines take turns: next
 * is the oldest line of the tenant that holds the fewest slots for lines.
 */
import { hasRoom, type ModelState, type TenantState } from "./state.ts";
import type { Arrival } from "./types.ts";

export interface BatchLine {
  readonly arrival: Arrival;
  readonly arrivedMs: number;
  readonly tenant: TenantState;
  readonly model: ModelState;
}

type Queues = Map<ModelState, Map<TenantState, Map<string, BatchLine>>>;

export class BatchLines {
  readonly #waiting = new Map<string, BatchLine>();
  readonly #queues: Queues = new Map();
  readonly #running = new Map<string, BatchLine>();

  get inFlight(): number {
    return this.#running.size;
  }

  get queued(): number {
    return this.#waiting.size;
  }

  isWaiting(requestId: string): boolean {
    return this.#waiting.has(requestId);
  }

  isRunning(requestId: string): boolean {
    return this.#running.has(requestId);
  }

  /** The line that is granted next when a slot is free; undefined: none may have one. */
  next(): BatchLine | undefined {
    let next: BatchLine | undefined;
    for (const [model, tenants] of this.#queues) {
      if (!hasRoom(model)) continue;
      for (const [tenant, lines] of tenants) {
        if (!hasRoom(tenant)) continue;
        const [line] = lines.values();
        if (line !== undefined && (next === undefined || isBefore(line, next))) next = line;
      }
    }
    return next;
  }

  wait(line: BatchLine): void {
    const { requestId } = line.arrival;
    this.#waiting.set(requestId, line);
    line.tenant.linesKnown += 1;
    const tenants = this.#queues.get(line.model) ?? new Map<TenantState, Map<string, BatchLine>>();
    this.#queues.set(line.model, tenants);
    const lines = tenants.get(line.tenant) ?? new Map<string, BatchLine>();
    tenants.set(line.tenant, lines);
    lines.set(requestId, line);
  }

  /** Takes a line out of the queue. False: it is not waiting. */
  leave(requestId: string): boolean {
    const line = this.#waiting.get(requestId);
    if (line === undefined) return false;
    const { tenant, model } = line;
    this.#waiting.delete(requestId);
    tenant.linesKnown -= 1;
    const tenants = this.#queues.get(model);
    const lines = tenants?.get(tenant);
    lines?.delete(requestId);
    if (lines?.size === 0) tenants?.delete(tenant);
    if (tenants?.size === 0) this.#queues.delete(model);
    return true;
  }

  /** Gives a line a slot. */
  hold(line: BatchLine): void {
    this.#running.set(line.arrival.requestId, line);
    this.#count(line, 1);
  }

  /** Takes the slot of a line back. Undefined: it holds none. */
  release(requestId: string): BatchLine | undefined {
    const line = this.#running.get(requestId);
    if (line === undefined) return undefined;
    this.#running.delete(requestId);
    this.#count(line, -1);
    return line;
  }

  #count({ tenant, model }: BatchLine, change: 1 | -1): void {
    tenant.linesInFlight += change;
    tenant.linesKnown += change;
    model.inFlight += change;
  }
}

function isBefore(line: BatchLine, other: BatchLine): boolean {
  const held = line.tenant.linesInFlight - other.tenant.linesInFlight;
  return held < 0 || (held === 0 && line.arrivedMs < other.arrivedMs);
}

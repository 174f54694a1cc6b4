/**
 * The requests that wait, and where: in a tenant's queue for each model, in the queue of its group, or deferred (their turn
 * came while their records were out of date; they keep their places). Counts them; orders nothing and decides nothing.
 */
import { type Head, hasRoom, type ModelState, type TenantState, type Waiter, waiterQueue } from "./state.ts";

export class WaitingRequests {
  readonly #waiting = new Map<string, Waiter>();
  readonly #deferred = new Map<string, Waiter>();
  /** The deferred ones that do not count as being checked again. */
  readonly #unheard = new Set<string>();

  /** All waiting requests, deferred or not. */
  get size(): number {
    return this.#waiting.size + this.#deferred.size;
  }

  /** True when more than one request could be granted a slot. */
  get contended(): boolean {
    return this.#waiting.size > 1;
  }

  /** The request, if it waits and is not deferred. */
  waiting(requestId: string): Waiter | undefined {
    return this.#waiting.get(requestId);
  }

  /** Every request that waits, deferred ones included, in no particular order. */
  *all(): Generator<Waiter, undefined> {
    yield* this.#waiting.values();
    yield* this.#deferred.values();
    return undefined;
  }

  /** True when a request waits that neither its tenant's cap nor its model's keeps from a slot; `models`: all that are known. */
  couldUseSlot(models: readonly ModelState[]): boolean {
    const waits = models.some((model) => hasRoom(model) && [...model.heads].some(({ tenant }) => hasRoom(tenant)));
    return waits || [...this.#deferred.values()].some(({ tenant, model }) => hasRoom(tenant) && hasRoom(model));
  }

  deferred(requestId: string): Waiter | undefined {
    return this.#deferred.get(requestId);
  }

  /** Adds a request that is new here or was deferred. Place its tenant afterwards. */
  add(waiter: Waiter): void {
    const { tenant, model, arrival } = waiter;
    if (this.#deferred.has(arrival.requestId)) this.remove(waiter);
    this.#waiting.set(arrival.requestId, waiter);
    this.#count(waiter, 1);
    let head = tenant.heads.get(model.name);
    if (head === undefined) {
      head = { tenant, model, waiters: waiterQueue(), bottleneck: null, witness: null };
      tenant.heads.set(model.name, head);
      model.heads.add(head);
    }
    head.waiters.put(waiter);
    tenant.headsByArrival.put(head);
    tenant.group.waiters.put(waiter);
  }

  /**
   * Defers a request, whether or not it waits already; `unheard`: nobody may be there to check it again. Place its tenant
   * afterwards.
   */
  defer(waiter: Waiter, unheard: boolean): void {
    const { requestId } = waiter.arrival;
    this.remove(waiter);
    this.#deferred.set(requestId, waiter);
    this.#count(waiter, 1);
    waiter.tenant.deferred += 1;
    if (unheard) this.discount(requestId);
  }

  /** Nobody may be there to check a deferred request again: it holds up no other request. Place its tenant afterwards. */
  discount(requestId: string): void {
    const waiter = this.#deferred.get(requestId);
    if (waiter === undefined || this.#unheard.has(requestId)) return;
    this.#unheard.add(requestId);
    waiter.tenant.deferred -= 1;
    waiter.tenant.passedOver = false;
  }

  /** Removes a request that waits or is deferred; does nothing for others. Place its tenant afterwards. */
  remove({ arrival: { requestId } }: Waiter): void {
    const deferred = this.#deferred.get(requestId);
    if (deferred !== undefined) {
      this.#deferred.delete(requestId);
      this.#count(deferred, -1);
      if (!this.#unheard.delete(requestId)) deferred.tenant.deferred -= 1;
      // The tenant was passed over because no slot was left for checking its requests again; now there is one.
      deferred.tenant.passedOver = false;
    }
    const waiter = this.#waiting.get(requestId);
    if (waiter === undefined) return;
    this.#waiting.delete(requestId);
    this.#count(waiter, -1);
    const { tenant, model } = waiter;
    tenant.group.waiters.remove(waiter);
    const head = tenant.heads.get(model.name);
    if (head === undefined) return;
    head.waiters.remove(waiter);
    if (head.waiters.size > 0) tenant.headsByArrival.put(head);
    else dropHead(head, tenant, model);
  }

  #count({ tenant, model }: Waiter, change: 1 | -1): void {
    tenant.queued += change;
    tenant.group.queued += change;
    model.queued += change;
  }
}

function dropHead(head: Head, tenant: TenantState, model: ModelState): void {
  tenant.headsByArrival.remove(head);
  tenant.heads.delete(model.name);
  model.heads.delete(head);
  if (model.heads.size === 0) model.isBottleneck = false;
}

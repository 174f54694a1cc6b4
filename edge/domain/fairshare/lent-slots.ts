/**
 * Slots that are lent: set aside for later requests of one tenant and model, so that these need not ask. They count against
 * the caps of the cell, the tenant and the model, and nowhere else: they are not in flight, nobody is served by them, and
 * who comes next is chosen as if there were none. Decides what may be lent and whether somebody misses it.
 */
import type { Registry } from "./registry.ts";
import { hasRoom, type ModelState, type TenantState } from "./state.ts";
import type { Arrival } from "./types.ts";

interface LentSlot {
  readonly tenant: TenantState;
  readonly model: ModelState;
}

export class LentSlots {
  readonly #slots = new Map<string, LentSlot>();
  /** Those with lent slots. */
  readonly #tenants = new Set<TenantState>();
  readonly #models = new Set<ModelState>();

  get size(): number {
    return this.#slots.size;
  }

  has(lentId: string): boolean {
    return this.#slots.has(lentId);
  }

  /** Lends a slot. A no-op for an id that is lent already. */
  put(lentId: string, tenant: TenantState, model: ModelState): void {
    if (this.#slots.has(lentId)) return;
    this.#slots.set(lentId, { tenant, model });
    tenant.lent += 1;
    model.lent += 1;
    this.#tenants.add(tenant);
    this.#models.add(model);
  }

  /** Takes a lent slot back; its tenant is to be placed again. Undefined when it is not lent. */
  take(lentId: string): LentSlot | undefined {
    const slot = this.#slots.get(lentId);
    if (slot === undefined) return undefined;
    const { tenant, model } = slot;
    this.#slots.delete(lentId);
    tenant.lent -= 1;
    model.lent -= 1;
    if (tenant.lent === 0) this.#tenants.delete(tenant);
    if (model.lent === 0) this.#models.delete(model);
    return slot;
  }

  /** Somebody waits on a tenant or model that is full, lent slots included. */
  fillACap(): boolean {
    for (const tenant of this.#tenants) if (tenant.queued > 0 && !hasRoom(tenant)) return true;
    for (const model of this.#models) if (model.queued > 0 && !hasRoom(model)) return true;
    return false;
  }
}

/** True when one more slot breaks no cap of the tenant or the model, known or newly stated, and nobody waits near it. */
export function mayLend(known: Registry, arrival: Arrival): boolean {
  const tenant = known.knownTenant(arrival.tenant.id);
  const model = known.knownModel(arrival.model.name);
  const groups = [tenant?.group, known.knownGroup(arrival.group.name)];
  if (groups.some((group) => group !== undefined && group.queued > 0)) return false;
  return isFree(tenant, arrival.tenant.maxInFlight) && isFree(model, arrival.model.maxInFlight);
}

function isFree(state: TenantState | ModelState | undefined, maxInFlight: number | null): boolean {
  const { inFlight, lent, queued } = state ?? { inFlight: 0, lent: 0, queued: 0 };
  return queued === 0 && hasRoom({ inFlight, lent, maxInFlight }) && (state === undefined || hasRoom(state));
}

/**
 * Every tenant, group and model the scheduler has met, with the values seen last. Creates and finds; decides nothing.
 */
import type { GroupState, ModelState, TenantState } from "./state.ts";
import type { Arrival } from "./types.ts";

export class Registry {
  readonly tenants = new Map<string, TenantState>();
  readonly groups = new Map<string, GroupState>();
  readonly models = new Map<string, ModelState>();
  #nextOrder = 1;

  /** A position later than every one handed out before. */
  order(): number {
    this.#nextOrder += 1;
    return this.#nextOrder;
  }

  group(given: Arrival["group"]): GroupState {
    const known = this.groups.get(given.name);
    if (known !== undefined) return known;
    const group: GroupState = {
      ...given,
      order: this.order(),
      inFlight: 0,
      served: 0,
      lastActiveMs: 0,
      waiters: new Map(),
    };
    this.groups.set(group.name, group);
    return group;
  }

  model(given: Arrival["model"]): ModelState {
    const known = this.models.get(given.name);
    if (known !== undefined) return known;
    const model: ModelState = { ...given, inFlight: 0, queued: 0 };
    this.models.set(model.name, model);
    return model;
  }

  tenant(given: Arrival["tenant"], group: GroupState, model: ModelState, nowMs: number): TenantState {
    const known = this.tenants.get(given.id);
    if (known !== undefined) return known;
    const tenant: TenantState = {
      ...given,
      order: this.order(),
      group,
      inFlight: 0,
      queued: 0,
      served: 0,
      heads: new Map(),
      lastAdmissionWeight: model.admissionWeight,
      lastActiveMs: nowMs,
    };
    this.tenants.set(tenant.id, tenant);
    return tenant;
  }

  /** Nobody owes anything any more; who was not seen since `beforeMs` is forgotten. */
  settleAll(beforeMs: number): void {
    for (const tenant of this.tenants.values()) {
      tenant.served = 0;
      if (tenant.lastActiveMs < beforeMs) this.tenants.delete(tenant.id);
    }
    for (const group of this.groups.values()) group.served = 0;
  }
}

/** Calls under way, few of each tenant and few in total; a tenant without one may always make a call. */
export class TenantCalls {
  readonly #most: { readonly inAll: number; readonly ofTenant: number };
  readonly #byTenant = new Map<string, number>();
  #all = 0;

  constructor(most: { readonly inAll: number; readonly ofTenant: number }) {
    this.#most = most;
  }

  /** Starts a call; the returned function ends it, and does nothing afterwards. Null: there are too many. */
  begin(tenantId: string): (() => void) | null {
    const own = this.#byTenant.get(tenantId) ?? 0;
    if (own >= this.#most.ofTenant || (own > 0 && this.#all >= this.#most.inAll)) return null;
    this.#count(tenantId, 1);
    let isOver = false;
    return () => {
      if (!isOver) this.#count(tenantId, -1);
      isOver = true;
    };
  }

  #count(tenantId: string, change: 1 | -1): void {
    const own = (this.#byTenant.get(tenantId) ?? 0) + change;
    this.#all += change;
    if (own === 0) this.#byTenant.delete(tenantId);
    else this.#byTenant.set(tenantId, own);
  }
}

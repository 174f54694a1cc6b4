/** Something that tenants share: each takes at most as much of it as it leaves free, and always as much as `least`. */
export class TenantShares {
  readonly #most: number;
  readonly #least: number;
  readonly #byTenant = new Map<string, number>();
  #all = 0;

  constructor(most: number, least = 0) {
    this.#most = most;
    this.#least = least;
  }

  /** How much more the tenant may take. */
  room(tenantId: string): number {
    const own = this.#of(tenantId);
    return Math.max(0, this.#least - own, Math.floor((this.#most - this.#all - own) / 2));
  }

  /** Whether the tenant has taken none. */
  isFree(tenantId: string): boolean {
    return !this.#byTenant.has(tenantId);
  }

  /** What the tenant takes, or gives back if it is less than 0. */
  take(tenantId: string, amount: number): void {
    const own = this.#of(tenantId) + amount;
    this.#all += amount;
    if (own === 0) this.#byTenant.delete(tenantId);
    else this.#byTenant.set(tenantId, own);
  }

  #of(tenantId: string): number {
    return this.#byTenant.get(tenantId) ?? 0;
  }
}

/**
 * The numbers of a cell's wallets: each wallet of a tenant has a larger one than any before it, also one of an earlier life of
 * the cell. The clock gives them; only a wallet that follows on another of its tenant within a millisecond runs ahead of it.
 * Counted for each tenant by itself, because a number that runs far ahead makes the wallets of a restarted cell look old.
 */
export class Epochs {
  /** The last number of tenants for whom the clock has not passed it. */
  readonly #last = new Map<string, number>();

  /** The number of the tenant's next wallet. */
  next(tenantId: string, nowMs: number): number {
    for (const [id, epoch] of this.#last) if (epoch < nowMs) this.#last.delete(id);
    const epoch = Math.max(nowMs, (this.#last.get(tenantId) ?? 0) + 1);
    this.#last.set(tenantId, epoch);
    return epoch;
  }

  /** Tenants remembered. */
  get size(): number {
    return this.#last.size;
  }
}

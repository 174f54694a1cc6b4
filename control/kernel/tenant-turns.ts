/** Whose turn it is: of the tenants that want one, the one that had its last turn longest ago. */

/** Tenants whose last turn is remembered. */
const MOST = 10_000;

export class TenantTurns {
  /** The latest last. */
  readonly #last = new Set<string>();

  /** The first row of the tenant that is next, which takes the turn; null: there are none. */
  next<T extends { readonly tenant_id: string }>(rows: readonly T[]): T | null {
    const waiting = new Set(rows.map((row) => row.tenant_id));
    const found = [...waiting].find((id) => !this.#last.has(id)) ?? [...this.#last].find((id) => waiting.has(id));
    if (found === undefined) return null;
    this.#last.delete(found);
    this.#last.add(found);
    const [oldest] = this.#last;
    if (this.#last.size > MOST && oldest !== undefined) this.#last.delete(oldest);
    return rows.find((row) => row.tenant_id === found) ?? null;
  }
}

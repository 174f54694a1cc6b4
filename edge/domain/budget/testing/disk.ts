/** The disk of a budget object in a test's world: rows of text by their keys, as edge/objects/budget-store.ts keeps them. */
import { type ReadState, readStored, type StoredRows } from "../read-stored.ts";
import type { Checkpoint, StoredGrants } from "../stored.ts";

export class Disk {
  #tenant: string | null = null;
  #charged: string | null = null;
  readonly #keys = new Map<string, string>();
  readonly #grants = new Map<string | null, string>();

  putGrants(grants: StoredGrants): void {
    this.#grants.set(grants.pool, JSON.stringify(grants));
  }

  putCheckpoint({ tenant, keys, charged }: Checkpoint): void {
    this.#tenant = JSON.stringify(tenant);
    if (charged !== null) this.#charged = JSON.stringify(charged);
    for (const key of keys) this.#keys.set(key.limits.id, JSON.stringify(key));
  }

  get rows(): StoredRows {
    return {
      tenant: this.#tenant,
      charged: this.#charged,
      keys: [...this.#keys].map(([id, value]) => ({ id, value })),
      grants: [...this.#grants].map(([pool, value]) => ({ pool, value })),
    };
  }

  load(): ReadState {
    return readStored(this.rows);
  }
}

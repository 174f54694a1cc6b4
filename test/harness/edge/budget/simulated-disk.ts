/** The disk of a budget object in a test's world: rows of text by their keys, as edge/objects/tenant-budget/budget-store.ts keeps them. */
import {
  type Checkpoint,
  readStored,
  type StoredGrants,
  type StoredRows,
  type StoredState,
} from "../../../../edge/domain/budget/authority/stored.ts";

/** The storage of an authority that has never been used. */
export const NOTHING_STORED: StoredState = {
  tenant: null,
  keys: [],
  grants: [],
  charged: [],
  untracked: false,
  keysUntracked: false,
};

export class SimulatedDisk {
  #tenant: string | null = null;
  #charged: string | null = null;
  readonly #keys = new Map<string, string>();
  readonly #grants = new Map<string | null, string>();

  putGrants(grants: StoredGrants): void {
    this.#grants.set(grants.pool, JSON.stringify(grants));
  }

  putCheckpoint({ tenant, keys, forgotten, charged }: Checkpoint): void {
    this.#tenant = JSON.stringify(tenant);
    for (const id of forgotten) {
      this.#keys.delete(id);
      this.#grants.delete(id);
    }
    if (charged !== null) this.#charged = JSON.stringify(charged);
    for (const key of keys) this.#keys.set(key.limits.id, JSON.stringify(key));
  }

  get rows(): StoredRows {
    return {
      tenant: this.#tenant,
      charged: this.#charged,
      keys: [...this.#keys.values()],
      grants: [...this.#grants.values()],
    };
  }

  load(): ReturnType<typeof readStored> {
    return readStored(this.rows);
  }
}

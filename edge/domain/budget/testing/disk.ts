/** The disk of a budget object in a test's world: rows of text by their keys, as edge/objects/budget-store.ts keeps them. */
import { type ReadState, readStored, type StoredRows } from "../read-stored.ts";
import type { Checkpoint, GrantRow } from "../stored.ts";

interface Row {
  readonly cell: string;
  readonly epoch: number;
  readonly purse: string | null;
  readonly value: string;
}

export class Disk {
  #tenant: string | null = null;
  #charged: string | null = null;
  readonly #keys = new Map<string, string>();
  readonly #epochs = new Map<string, Row>();
  readonly #grants = new Map<string, Row>();

  putGrant(grant: GrantRow): void {
    const { cell, epoch, purse } = grant;
    this.#grants.set(JSON.stringify([cell, epoch, purse]), { cell, epoch, purse, value: JSON.stringify(grant) });
  }

  putCheckpoint(checkpoint: Checkpoint): void {
    this.#tenant = JSON.stringify(checkpoint.tenant);
    if (checkpoint.charged !== null) this.#charged = JSON.stringify(checkpoint.charged);
    for (const key of checkpoint.keys) this.#keys.set(key.limits.id, JSON.stringify(key));
    for (const state of checkpoint.epochs) {
      const { cell, epoch } = state;
      this.#epochs.set(`${cell}/${epoch}`, { cell, epoch, purse: null, value: JSON.stringify(state) });
    }
    for (const { cell, epoch } of checkpoint.forgotten) {
      this.#epochs.delete(`${cell}/${epoch}`);
      for (const [id, row] of this.#grants) if (row.cell === cell && row.epoch === epoch) this.#grants.delete(id);
    }
  }

  get rows(): StoredRows {
    return {
      tenant: this.#tenant,
      charged: this.#charged,
      keys: [...this.#keys].map(([id, value]) => ({ id, value })),
      epochs: [...this.#epochs.values()],
      grants: [...this.#grants.values()],
    };
  }

  load(): ReadState {
    return readStored(this.rows);
  }
}

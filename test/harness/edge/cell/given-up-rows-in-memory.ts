/** The rows of given-up requests as a Cell's disk keeps them, which outlives the lives of the Cell. */
import type { GivenUpRow, GivenUpRowStore } from "../../../../edge/domain/admission/given-up-rows.ts";

export class GivenUpRowsInMemory implements GivenUpRowStore {
  readonly #rows = new Map<string, GivenUpRow>();

  get all(): readonly GivenUpRow[] {
    return [...this.#rows.values()];
  }

  keep(lost: GivenUpRow): void {
    this.#rows.set(lost.row.request_id, lost);
  }

  has(requestId: string): boolean {
    return this.#rows.has(requestId);
  }

  forget(requestId: string): void {
    this.#rows.delete(requestId);
  }
}

/** The rows of given-up requests as a Cell's disk keeps them, which outlives the lives of the Cell. */
import type { LostRow, LostRowStore } from "../../../../edge/domain/admission/lost-rows.ts";

export class LostRowsInMemory implements LostRowStore {
  readonly #rows = new Map<string, LostRow>();

  get all(): readonly LostRow[] {
    return [...this.#rows.values()];
  }

  keep(lost: LostRow): void {
    this.#rows.set(lost.row.request_id, lost);
  }

  has(requestId: string): boolean {
    return this.#rows.has(requestId);
  }

  forget(requestId: string): void {
    this.#rows.delete(requestId);
  }
}

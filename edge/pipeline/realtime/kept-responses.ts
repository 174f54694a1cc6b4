/**
 * Responses that are known to one connection alone, so that the next one can continue them
 * (docs/rules/realtime.md#responses-over-a-websocket): the items of their conversation, as JSON. The oldest go first.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import type { MemoryBudget, MemoryReservation } from "../call/memory/memory-budget.ts";

const KEPT = 8;
const BYTES_PER_CHARACTER = 2;

interface Kept {
  readonly items: readonly string[];
  readonly memory: MemoryReservation;
}

export class KeptResponses {
  readonly #budget: MemoryBudget;
  readonly #responses = new Map<string, Kept>();

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  /** Each item as JSON; null: the response is not kept. */
  items(id: string): readonly string[] | null {
    return this.#responses.get(id)?.items ?? null;
  }

  /** What does not fit is not kept. */
  keep(id: string, items: readonly string[]): void {
    this.#forget(id);
    const [oldest] = this.#responses.keys();
    if (this.#responses.size >= KEPT && oldest !== undefined) this.#forget(oldest);
    const bytes = items.reduce((sum, { length }) => sum + length, 0) * BYTES_PER_CHARACTER;
    const memory = this.#budget.open();
    if (bytes <= LIMITS.responsesKept && memory.grow(bytes)) this.#responses.set(id, { items, memory });
    else memory.close();
  }

  clear(): void {
    for (const id of this.#responses.keys()) this.#forget(id);
  }

  #forget(id: string): void {
    this.#responses.get(id)?.memory.close();
    this.#responses.delete(id);
  }
}

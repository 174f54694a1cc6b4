/**
 * Counts the rewritten part of an answer in the memory for answers, until it is passed on
 * (docs/rules/streams.md#buffered-answers).
 */
import type { GatewayError } from "../../../../shared/errors.ts";
import type { MemoryBudget, MemoryReservation } from "./memory-budget.ts";

export class WrittenMemory {
  readonly #budget: MemoryBudget;
  readonly #noMemory: () => GatewayError;
  #held: MemoryReservation;

  /** `noMemory`: the error when the written part does not fit. */
  constructor(budget: MemoryBudget, noMemory: () => GatewayError) {
    this.#budget = budget;
    this.#noMemory = noMemory;
    this.#held = budget.open();
  }

  /** Counts bytes that were written. */
  readonly take = (bytes: number): void => {
    if (!this.#held.grow(bytes)) throw this.#noMemory();
  };

  /** Frees everything: it was passed on. */
  passOn(): void {
    this.#held.close();
    this.#held = this.#budget.open();
  }

  /** Frees everything: the answer has ended. */
  close(): void {
    this.#held.close();
  }
}

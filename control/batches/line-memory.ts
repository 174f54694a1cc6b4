/**
 * Bounds what bodies and answers of lines hold in memory, here and in Workers (docs/rules/batches.md#windows). Nobody knows how large
 * an answer will be, so each counts as the largest that its model gave of late.
 */
import { TenantShares } from "./tenant-shares.ts";

const HELD_MAX_CHARS = 64 * 1024 * 1024;
/** What any answer counts, so that models of small answers need not be remembered. */
const LEAST_CHARS = 64 * 1024;
/** Lines of small answers that each tenant may always have under way. */
const LEAST_LINES = 16;
const FORGETS = 0.9;

export class LineMemory {
  readonly #largest = new Map<string, number>();
  readonly #held = new TenantShares(HELD_MAX_CHARS, LEAST_LINES * LEAST_CHARS);

  /** How many more lines of a model a tenant may have under way. One always may: it is its answers that tell their size. */
  room(tenantId: string, model: string): number {
    const lines = Math.floor(this.#held.room(tenantId) / this.#expected(model));
    return this.#held.isFree(tenantId) ? Math.max(1, lines) : lines;
  }

  /** A line is under way; what it returns gives its memory free. */
  taken(tenantId: string, model: string, bodyChars: number): () => void {
    const chars = bodyChars + this.#expected(model);
    this.#held.take(tenantId, chars);
    return () => this.#held.take(tenantId, -chars);
  }

  /** A line of the model has an answer. */
  answered(model: string, chars: number): void {
    const largest = Math.round(Math.max(chars, this.#expected(model) * FORGETS));
    if (largest > LEAST_CHARS) this.#largest.set(model, largest);
    else this.#largest.delete(model);
  }

  #expected(model: string): number {
    return this.#largest.get(model) ?? LEAST_CHARS;
  }
}

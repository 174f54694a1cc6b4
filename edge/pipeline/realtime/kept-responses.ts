/**
 * Responses that are known to one connection alone, so that the next one can continue them
 * (docs/rules/realtime.md#responses-over-a-websocket): the items of their conversation, as JSON in UTF-8 without the brackets of a
 * list. The oldest go first.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { concat } from "../../domain/wire/bytes/byte-pieces.ts";
import type { ResponseShare } from "../call/memory/response-memory.ts";

const KEPT = 8;

interface Kept {
  readonly items: Uint8Array;
  readonly free: () => void;
}

export class KeptResponses {
  readonly #share: ResponseShare;
  readonly #responses = new Map<string, Kept>();
  #isOver = false;

  constructor(share: ResponseShare) {
    this.#share = share;
  }

  /** Null: the response is not kept. */
  items(id: string): Uint8Array | null {
    return this.#responses.get(id)?.items ?? null;
  }

  /** Keeps a copy of the items, which are in these pieces, if it fits. */
  keep(id: string, items: readonly Uint8Array[]): void {
    if (this.#isOver) return;
    this.#forget(id);
    const [oldest] = this.#responses.keys();
    if (this.#responses.size >= KEPT && oldest !== undefined) this.#forget(oldest);
    const bytes = items.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (bytes > LIMITS.responsesKept) return;
    const free = this.#share.keep(bytes, () => this.#responses.delete(id));
    if (free !== null) this.#responses.set(id, { items: concat(items), free });
  }

  /** Nothing is kept any more. */
  end(): void {
    this.#isOver = true;
    for (const id of this.#responses.keys()) this.#forget(id);
  }

  #forget(id: string): void {
    this.#responses.get(id)?.free();
    this.#responses.delete(id);
  }
}

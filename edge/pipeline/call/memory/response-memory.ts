/**
 * Memory of an isolate for the WebSockets of Responses: for requests, and for responses that are kept to continue them
 * (docs/rules/realtime.md#responses-over-a-websocket). Each tenant has a share. What is kept goes when a request needs its memory.
 */
import { LIMITS } from "../../../../shared/catalogues/limits.ts";
import { MemoryBudget } from "./memory-budget.ts";

interface Kept {
  readonly bytes: number;
  readonly forget: () => void;
}

/** What the connections of a tenant have together. */
export class ResponseShare {
  readonly #all: MemoryBudget;
  readonly #leave: () => void;
  readonly #own = new MemoryBudget(LIMITS.tenantResponsesMemory, () => this.giveUp());
  /** By what frees it, the oldest first. */
  readonly #kept = new Map<() => void, Kept>();
  readonly #sockets = new Set<WebSocket>();

  constructor(all: MemoryBudget, leave: () => void) {
    this.#all = all;
    this.#leave = leave;
  }

  get keptBytes(): number {
    return [...this.#kept.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Bytes that the clients have not read. */
  get unreadBytes(): number {
    return [...this.#sockets].reduce((sum, { bufferedAmount }) => sum + bufferedAmount, 0);
  }

  /** False: the tenant has too many connections. */
  add(socket: WebSocket): boolean {
    if (this.#sockets.size >= LIMITS.tenantResponsesSockets) return false;
    this.#sockets.add(socket);
    return true;
  }

  remove(socket: WebSocket): void {
    if (this.#sockets.delete(socket) && this.#sockets.size === 0) this.#leave();
  }

  /**
   * What it returns frees the bytes; null: they do not fit. `forget` is called when others need them. A small request needs memory
   * of its tenant only, so that the large ones of others refuse none.
   */
  reserve(bytes: number, forget: (() => void) | null = null): (() => void) | null {
    const isSmall = forget === null && bytes <= LIMITS.smallBody;
    const parts = (isSmall ? [this.#own] : [this.#own, this.#all]).map((budget) => budget.open(forget !== null));
    const free = (): void => {
      for (const part of parts) part.close();
      this.#kept.delete(free);
    };
    if (parts.every((part) => part.grow(bytes))) {
      if (forget !== null) this.#kept.set(free, { bytes, forget });
      return free;
    }
    free();
    return null;
  }

  /** Forgets the oldest response that is kept; false: there is none. */
  giveUp(): boolean {
    const [oldest] = this.#kept;
    if (oldest === undefined) return false;
    const [free, { forget }] = oldest;
    free();
    forget();
    return true;
  }
}

export class ResponseMemory {
  readonly #all = new MemoryBudget(LIMITS.responsesMemory, () => this.#giveUp());
  readonly #shares = new Map<string, ResponseShare>();

  /** Bytes that are reserved. */
  get usedBytes(): number {
    return this.#all.usedBytes;
  }

  /** The share of a tenant's connection; null: the tenant has too many. Its socket is removed from it at its end. */
  join(tenantId: string, socket: WebSocket): ResponseShare | null {
    const known = this.#shares.get(tenantId);
    const share = known ?? new ResponseShare(this.#all, () => this.#shares.delete(tenantId));
    this.#shares.set(tenantId, share);
    return share.add(socket) ? share : null;
  }

  /** The tenant that keeps the most loses its oldest. */
  #giveUp(): boolean {
    const [most] = [...this.#shares.values()].toSorted((a, b) => b.keptBytes - a.keptBytes);
    return most?.giveUp() ?? false;
  }
}

/**
 * Memory of an isolate for the WebSockets of Responses: for requests, and for responses that are kept to continue them
 * (docs/rules/realtime.md#responses-over-a-websocket). Each tenant has a share. Kept responses are dropped when a request needs
 * their memory.
 */
import { LIMITS } from "../../../../shared/catalogues/limits.ts";
import { MemoryBudget } from "./memory-budget.ts";

interface Kept {
  readonly bytes: number;
  readonly forget: () => void;
}

/** Memory of a request, as it waits and runs. */
export interface RequestMemory {
  /** Reserves the missing bytes up to this total; false: they do not fit. */
  cover(totalBytes: number): boolean;
  /** Frees all of it. */
  close(): void;
}

/** The common memory of a tenant's connections. */
export class ResponseShare {
  readonly #all: MemoryBudget;
  readonly #leave: () => void;
  readonly #own = new MemoryBudget(LIMITS.tenantResponsesMemory, () => this.giveUp());
  /** By the function that frees it, the oldest first. */
  readonly #kept = new Map<() => void, Kept>();
  /** Bytes that the client of each connection has not read, as its own request saw it: no other one may read a socket. */
  readonly #unread = new Map<WebSocket, number>();

  constructor(all: MemoryBudget, leave: () => void) {
    this.#all = all;
    this.#leave = leave;
  }

  get keptBytes(): number {
    return [...this.#kept.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Bytes that the clients have not read. */
  get unreadBytes(): number {
    return [...this.#unread.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** False: the tenant has too many connections. */
  add(socket: WebSocket): boolean {
    if (this.#unread.size >= LIMITS.tenantResponsesSockets) return false;
    this.#unread.set(socket, 0);
    return true;
  }

  /** Called by the request of the connection itself. */
  noteUnread(socket: WebSocket, bytes: number): void {
    if (this.#unread.has(socket)) this.#unread.set(socket, bytes);
  }

  remove(socket: WebSocket): void {
    this.#unread.delete(socket);
    this.#leaveIfUnused();
  }

  /** Memory for a request. A small one needs only its tenant's share, so large requests of other tenants refuse none. */
  open(): RequestMemory {
    const [own, all] = [this.#own.open(), this.#all.open()];
    let [ofOwn, ofAll] = [0, 0];
    return {
      cover: (totalBytes) => {
        const more = Math.max(totalBytes - ofOwn, 0);
        if (!own.grow(more)) return false;
        ofOwn += more;
        const moreOfAll = totalBytes > LIMITS.smallBody ? Math.max(totalBytes - ofAll, 0) : 0;
        if (!all.grow(moreOfAll)) return false;
        ofAll += moreOfAll;
        return true;
      },
      close: () => {
        own.close();
        all.close();
        this.#leaveIfUnused();
      },
    };
  }

  /**
   * Memory for a kept response: the returned function frees it; null: it does not fit. `forget` is called when others need it.
   */
  keep(bytes: number, forget: () => void): (() => void) | null {
    const parts = [this.#own.open(true), this.#all.open(true)];
    const free = (): void => {
      for (const part of parts) part.close();
      this.#kept.delete(free);
      this.#leaveIfUnused();
    };
    if (parts.every((part) => part.grow(bytes))) {
      this.#kept.set(free, { bytes, forget });
      return free;
    }
    free();
    return null;
  }

  /** Forgets the oldest kept response; false without any. */
  giveUp(): boolean {
    const [oldest] = this.#kept;
    if (oldest === undefined) return false;
    const [free, { forget }] = oldest;
    free();
    forget();
    return true;
  }

  /** Requests may still have memory when the last connection has ended: the next one shares it with them. */
  #leaveIfUnused(): void {
    if (this.#unread.size === 0 && this.#own.usedBytes === 0) this.#leave();
  }
}

export class ResponseMemory {
  readonly #all = new MemoryBudget(LIMITS.responsesMemory, () => this.#giveUp());
  readonly #shares = new Map<string, ResponseShare>();

  /** Bytes that are reserved. */
  get usedBytes(): number {
    return this.#all.usedBytes;
  }

  /** The share of a tenant's connection; null: the tenant has too many. Its socket is removed from it when it ends. */
  join(tenantId: string, socket: WebSocket): ResponseShare | null {
    const share: ResponseShare =
      this.#shares.get(tenantId) ??
      new ResponseShare(this.#all, () => {
        if (this.#shares.get(tenantId) === share) this.#shares.delete(tenantId);
      });
    this.#shares.set(tenantId, share);
    return share.add(socket) ? share : null;
  }

  /** The tenant that keeps the most loses its oldest. */
  #giveUp(): boolean {
    const [most] = [...this.#shares.values()].toSorted((a, b) => b.keptBytes - a.keptBytes);
    return most?.giveUp() ?? false;
  }
}

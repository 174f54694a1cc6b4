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

/** A connection. */
interface Joined {
  /** What its client has not read, and events that have not come whole, as its own request saw it: no other one may read a socket. */
  unreadBytes: number;
  /** What it has by then is of no connection any more, epoch ms: the runtime may end a request without any notice. */
  readonly overMs: number;
}

/** How long requests may run on after the longest connection. */
const OVER_AFTER_MS = 60_000;

/** The common memory of a tenant's connections. */
export class ResponseShare {
  readonly #all: MemoryBudget;
  readonly #leave: () => void;
  /** Gives back what is over by time, of all tenants. */
  readonly #sweep: () => void;
  readonly #own = new MemoryBudget(LIMITS.tenantResponsesMemory, () => this.giveUp());
  /** By the function that frees it, the oldest first. */
  readonly #kept = new Map<() => void, Kept>();
  readonly #joined = new Map<WebSocket, Joined>();
  /** Of requests that wait and run, each with when it is over at the latest. */
  readonly #requests = new Map<RequestMemory, number>();

  constructor(all: MemoryBudget, leave: () => void, sweep: () => void) {
    this.#all = all;
    this.#leave = leave;
    this.#sweep = sweep;
  }

  get keptBytes(): number {
    return [...this.#kept.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Bytes that the clients have not read. */
  get unreadBytes(): number {
    return [...this.#joined.values()].reduce((sum, { unreadBytes }) => sum + unreadBytes, 0);
  }

  get sockets(): number {
    return this.#joined.size;
  }

  add(socket: WebSocket, overMs: number): void {
    this.#joined.set(socket, { unreadBytes: 0, overMs });
  }

  /** Called by the request of the connection itself. */
  noteUnread(socket: WebSocket, bytes: number): void {
    const its = this.#joined.get(socket);
    if (its !== undefined) its.unreadBytes = bytes;
  }

  remove(socket: WebSocket): void {
    this.#joined.delete(socket);
    this.#leaveIfUnused();
  }

  /** Gives back what is over by time. */
  sweep(nowMs: number): void {
    for (const [socket, { overMs }] of this.#joined) if (overMs < nowMs) this.remove(socket);
    for (const [memory, overMs] of this.#requests) if (overMs < nowMs) memory.close();
  }

  /** Memory for a request of a connection. A small one needs only its tenant's share, so large requests of others refuse none. */
  open(socket: WebSocket): RequestMemory {
    const [own, all] = [this.#own.open(), this.#all.open()];
    let [ofOwn, ofAll] = [0, 0];
    const fits = (totalBytes: number): boolean => {
      const more = Math.max(totalBytes - ofOwn, 0);
      if (!own.grow(more)) return false;
      ofOwn += more;
      const moreOfAll = totalBytes > LIMITS.smallBody ? Math.max(totalBytes - ofAll, 0) : 0;
      if (!all.grow(moreOfAll)) return false;
      ofAll += moreOfAll;
      return true;
    };
    const memory: RequestMemory = {
      cover: (totalBytes) => {
        if (fits(totalBytes)) return true;
        this.#sweep();
        return fits(totalBytes);
      },
      close: () => {
        own.close();
        all.close();
        this.#requests.delete(memory);
        this.#leaveIfUnused();
      },
    };
    this.#requests.set(memory, this.#joined.get(socket)?.overMs ?? 0);
    return memory;
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
    if (this.#joined.size === 0 && this.#own.usedBytes === 0) this.#leave();
  }
}

export class ResponseMemory {
  readonly #all = new MemoryBudget(LIMITS.responsesMemory, () => this.#giveUp());
  readonly #shares = new Map<string, ResponseShare>();
  readonly #most: number;
  readonly #clock: () => number;

  /** `most`: connections of a tenant. */
  constructor(most: number, clock: () => number) {
    this.#most = most;
    this.#clock = clock;
  }

  /** Bytes that are reserved. */
  get usedBytes(): number {
    return this.#all.usedBytes;
  }

  /** The share of a tenant's connection, which lasts so long at most; null: the tenant has too many. Its socket is removed at its end. */
  join(tenantId: string, socket: WebSocket, longestMs: number): ResponseShare | null {
    const sweep = (): void => {
      for (const one of this.#shares.values()) one.sweep(this.#clock());
    };
    sweep();
    const leave = (): void => {
      if (this.#shares.get(tenantId) === share) this.#shares.delete(tenantId);
    };
    const share: ResponseShare = this.#shares.get(tenantId) ?? new ResponseShare(this.#all, leave, sweep);
    this.#shares.set(tenantId, share);
    if (share.sockets >= this.#most) return null;
    share.add(socket, this.#clock() + longestMs + OVER_AFTER_MS);
    return share;
  }

  /** The tenant that keeps the most loses its oldest. */
  #giveUp(): boolean {
    const [most] = [...this.#shares.values()].toSorted((a, b) => b.keptBytes - a.keptBytes);
    return most?.giveUp() ?? false;
  }
}

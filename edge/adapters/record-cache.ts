/**
 * Hot copies in an isolate's memory. Above a number of bytes the least recently used are removed first. A copy is fresh
 * for five minutes and kept for up to an hour for when the store is down (docs/rules/freshness.md#store-down). Absence
 * is never cached. Concurrent misses share one read.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../ports.ts";
import { withStallTolerantTimeout } from "./stall-tolerant-timeout.ts";

export const FRESH_MS = 5 * 60 * 1000;
export const STALE_IF_ERROR_MS = 60 * 60 * 1000;
/** Longer than the store's own deadlines together (redis-client.ts). */
const JOIN_MS = 2_500;

interface Copy<T> {
  readonly record: T;
  readonly readMs: number;
  /** Until this time the copy is used without reading the store, epoch ms. */
  readonly freshUntilMs: number;
}

/** The result of a read; null: there is no such record. */
interface Read<T> {
  readonly record: T | null;
  /** The record comes from a read that started before this one was requested: it may be out of date. */
  readonly joined: boolean;
}

/** A read in progress. */
interface Load {
  /** True: its result may be out of date and is not kept. */
  outdated: boolean;
}

export class RecordCache<T extends object> {
  readonly #copies: LRUCache<string, Copy<T>>;
  readonly #flights = new Map<string, Promise<T | null>>();
  /** The reads in progress by name, in the order in which they started. */
  readonly #loads = new Map<string, Set<Load>>();
  readonly #clock: Clock;
  readonly #keepAlive: (work: Promise<unknown>) => void;

  /** `keepAlive` lets a read continue after the request that started it has ended: other requests may have joined it. */
  constructor(maxBytes: number, clock: Clock, keepAlive: (work: Promise<unknown>) => void) {
    this.#keepAlive = keepAlive;
    this.#copies = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: (copy) => JSON.stringify(copy.record).length + 64,
    });
    this.#clock = clock;
  }

  /** A fresh copy, or null. */
  fresh(name: string): T | null {
    const copy = this.#copies.get(name);
    return copy !== undefined && this.#clock() < copy.freshUntilMs ? copy.record : null;
  }

  /** A copy of any age that may still be used while the store is down; it is then kept longer. */
  staleIfError(name: string): T | null {
    const copy = this.#copies.get(name);
    if (copy === undefined) return null;
    const nowMs = this.#clock();
    const lastMs = copy.readMs + STALE_IF_ERROR_MS;
    if (nowMs >= lastMs) return null;
    this.#copies.set(name, { ...copy, freshUntilMs: Math.min(nowMs + FRESH_MS, lastMs) });
    return copy.record;
  }

  /**
   * Reads a record, with one read at a time per name. A record found is kept; absence is not. `anew`: joins no read that
   * started earlier, which might return an old value. A joined read is only waited for up to a limit: the platform may have cut
   * off the request that started it.
   */
  async read(name: string, load: () => Promise<T | null>, anew: boolean): Promise<Read<T>> {
    const inFlight = anew ? undefined : this.#flights.get(name);
    if (inFlight !== undefined) {
      const joined = await withStallTolerantTimeout(inFlight, JOIN_MS);
      if (joined !== null) return { record: joined.value, joined: true };
    }
    const flight = this.#load(name, load);
    this.#flights.set(name, flight);
    this.#keepAlive(flight.catch(() => undefined));
    try {
      return { record: await flight, joined: false };
    } finally {
      if (this.#flights.get(name) === flight) this.#flights.delete(name);
    }
  }

  /** Removes the copy if `isOld` says so; true when it was removed. */
  drop(name: string, isOld: (record: T) => boolean): boolean {
    const copy = this.#copies.peek(name);
    return copy !== undefined && isOld(copy.record) && this.#copies.delete(name);
  }

  /** Removes every copy for which `isOld` is true; true when there was one. */
  dropWhere(isOld: (record: T) => boolean): boolean {
    let dropped = false;
    for (const [name, copy] of this.#copies.entries())
      if (isOld(copy.record)) dropped = this.#copies.delete(name) || dropped;
    return dropped;
  }

  /** Reads in progress may return old values: no later request joins them, and their results are not kept. */
  distrust(): void {
    for (const loads of this.#loads.values()) for (const load of loads) load.outdated = true;
    this.#loads.clear();
    this.#flights.clear();
  }

  clear(): void {
    this.#copies.clear();
    this.distrust();
  }

  async #load(name: string, load: () => Promise<T | null>): Promise<T | null> {
    const own: Load = { outdated: false };
    const loads = this.#loads.get(name) ?? new Set();
    this.#loads.set(name, loads.add(own));
    try {
      const record = await load();
      if (own.outdated) return record;
      for (const earlier of loads) {
        if (earlier === own) break;
        earlier.outdated = true;
      }
      if (record === null) this.#copies.delete(name);
      else this.#keep(name, record);
      return record;
    } finally {
      loads.delete(own);
      if (loads.size === 0 && this.#loads.get(name) === loads) this.#loads.delete(name);
    }
  }

  #keep(name: string, record: T): void {
    const readMs = this.#clock();
    this.#copies.set(name, { record, readMs, freshUntilMs: readMs + FRESH_MS });
  }
}

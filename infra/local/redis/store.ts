/**
 * The memory of the embedded store: typed values by key, with expiry. It decides when a key has expired (at its deadline,
 * checked on every read) and which keys are removed when memory is short (keys with an expiry, oldest first; never the others).
 * It reads no clock and starts no timer: `now` is an argument, and each write removes a few expired keys.
 */
import { RedisError } from "./backend.ts";

/** Members by score and, within a score, by name. It is sorted when it is read, and most often it is in order already. */
export class SortedSet {
  #scores = new Map<string, number>();
  #last: readonly [member: string, score: number] | null = null;
  #isInOrder = true;
  bytes = 0;

  get size(): number {
    return this.#scores.size;
  }

  /** Whether the member is new. */
  set(member: string, score: number): boolean {
    const isNew = !this.delete(member);
    const last: readonly [string, number] = [member, score];
    this.#isInOrder &&= this.#last === null || compare(this.#last, last) < 0;
    this.#last = last;
    this.#scores.set(member, score);
    this.bytes += ENTRY_OVERHEAD_BYTES + textBytes(member);
    return isNew;
  }

  delete(member: string): boolean {
    if (!this.#scores.delete(member)) return false;
    this.bytes -= ENTRY_OVERHEAD_BYTES + textBytes(member);
    return true;
  }

  /** The members of the ranks from `start` up to `end`, without that one. */
  range(start: number, end: number): [member: string, score: number][] {
    if (start >= end) return [];
    if (!this.#isInOrder) {
      const sorted = [...this.#scores].toSorted(compare);
      this.#scores = new Map(sorted);
      this.#last = sorted.at(-1) ?? null;
      this.#isInOrder = true;
    }
    const found: [string, number][] = [];
    let rank = 0;
    for (const each of this.#scores) {
      if (rank >= end) break;
      if (rank >= start) found.push(each);
      rank += 1;
    }
    return found;
  }
}

function compare([a, scoreOfA]: readonly [string, number], [b, scoreOfB]: readonly [string, number]): number {
  return scoreOfA - scoreOfB || (a < b ? -1 : 1);
}

/** A stored value: the type decides which commands may touch it. */
export type Value = string | Set<string> | Map<string, string> | SortedSet;

interface Entry {
  value: Value;
  /** When the key expires, in ms; undefined: never. */
  expiresAtMs: number | undefined;
  bytes: number;
}

const SWEEP_PER_WRITE = 20;
const ENTRY_OVERHEAD_BYTES = 100;

const textBytes = (text: string) => 2 * text.length;

function sizeOf(key: string, value: Value): number {
  let bytes = ENTRY_OVERHEAD_BYTES + textBytes(key);
  if (typeof value === "string") return bytes + textBytes(value);
  if (value instanceof SortedSet) return bytes + value.bytes;
  if (value instanceof Set) for (const member of value) bytes += ENTRY_OVERHEAD_BYTES + textBytes(member);
  else for (const [field, text] of value) bytes += ENTRY_OVERHEAD_BYTES + textBytes(field) + textBytes(text);
  return bytes;
}

/** Keys and values with expiry, limited to `maxBytes` (an estimate). Only keys that are `evictable` make room for others. */
export class Store {
  readonly #entries = new Map<string, Entry>();
  readonly #expiring = new Set<string>();
  readonly #evictable = new Set<string>();
  readonly #maxBytes: number;
  readonly #isEvictable: (key: string) => boolean;
  #bytes = 0;
  #sweep: Iterator<string> = this.#expiring.values();

  constructor(maxBytes: number, isEvictable: (key: string) => boolean) {
    this.#maxBytes = maxBytes;
    this.#isEvictable = isEvictable;
  }

  /** The value of a key that has not expired. */
  get(key: string, now: number): Value | undefined {
    return this.#live(key, now)?.value;
  }

  /**
   * Stores a value. `expiresAtMs` undefined: it does not expire. Throws RedisError `OOM` when nothing more can be removed.
   */
  set(key: string, value: Value, expiresAtMs: number | undefined, now: number): void {
    const bytes = sizeOf(key, value);
    this.#sweepSome(now);
    this.#makeRoom(bytes - (this.#entries.get(key)?.bytes ?? 0), key);
    this.delete(key);
    this.#entries.set(key, { value, expiresAtMs, bytes });
    this.#bytes += bytes;
    if (expiresAtMs === undefined) return;
    this.#expiring.add(key);
    if (this.#isEvictable(key)) this.#evictable.add(key);
  }

  /** Removes a key; false when there was none. An expired key counts as missing only through `get`. */
  delete(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#bytes -= entry.bytes;
    this.#expiring.delete(key);
    this.#evictable.delete(key);
    return this.#entries.delete(key);
  }

  /** The expiry of a live key; undefined: it does not expire; null: the key does not exist. */
  deadline(key: string, now: number): number | undefined | null {
    const entry = this.#live(key, now);
    return entry === undefined ? null : entry.expiresAtMs;
  }

  /** The live keys, in no particular order. */
  keys(now: number): string[] {
    return [...this.#entries.keys()].filter((key) => this.#live(key, now) !== undefined);
  }

  /** Removes everything. */
  clear(): void {
    this.#entries.clear();
    this.#expiring.clear();
    this.#evictable.clear();
    this.#bytes = 0;
  }

  #live(key: string, now: number): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry?.expiresAtMs !== undefined && entry.expiresAtMs <= now) {
      this.delete(key);
      return undefined;
    }
    return entry;
  }

  #sweepSome(now: number): void {
    for (let looked = 0; looked < SWEEP_PER_WRITE; looked += 1) {
      const next = this.#sweep.next();
      if (next.done === true) {
        this.#sweep = this.#expiring.values();
        return;
      }
      this.#live(next.value, now);
    }
  }

  #makeRoom(more: number, except: string): void {
    for (const key of this.#evictable) {
      if (this.#bytes + more <= this.#maxBytes) return;
      if (key !== except) this.delete(key);
    }
    if (more > 0 && this.#bytes + more > this.#maxBytes) {
      throw new RedisError("OOM command not allowed when used memory > 'maxmemory'.");
    }
  }
}

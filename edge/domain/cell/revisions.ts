/**
 * Which records changed lately: the newest revision per record, kept longer than any isolate may hold a copy
 * (docs/rules/freshness.md#revisions). An admission request that was built on an older revision is stale. Kind `all`
 * outdates everything that was read before it; an admission request states the newest `all` that its isolate has applied.
 */
import type { RevItem } from "../../../shared/wire/internal.ts";

export const REVISION_KEEP_MS = 2 * 60 * 60 * 1000;

interface Known {
  readonly rev: number;
  readonly seenMs: number;
}

export class Revisions {
  readonly #known = new Map<string, Known>();
  #generation = 0;

  /** Changes with every change: under the same number, what was current is still current. */
  get generation(): number {
    return this.#generation;
  }

  /** Keeps the newest items; returns those that were new, for the caller to store. */
  note(items: readonly RevItem[], nowMs: number): readonly RevItem[] {
    this.#generation += 1;
    return items.filter((item) => {
      const name = nameOf(item);
      const old = this.#known.get(name);
      if (old !== undefined && old.rev >= item.rev) return false;
      this.#known.set(name, { rev: item.rev, seenMs: nowMs });
      return true;
    });
  }

  /** The newest known items that are newer than given. */
  staleAmong(items: readonly RevItem[]): readonly RevItem[] {
    return items.flatMap((item) => {
      const known = this.#known.get(nameOf(item));
      return known !== undefined && known.rev > item.rev ? [{ kind: item.kind, id: item.id, rev: known.rev }] : [];
    });
  }

  /** The items for which no newer one is known: their values may be applied. */
  current<T extends RevItem>(items: readonly T[]): readonly T[] {
    return items.filter((item) => (this.#known.get(nameOf(item))?.rev ?? 0) <= item.rev);
  }

  /**
   * Forgets revisions older than any copy at a time: now, or the arrival of the oldest admission request that is still to be
   * decided.
   */
  prune(nowMs: number): void {
    for (const [name, known] of this.#known) {
      if (nowMs - known.seenMs > REVISION_KEEP_MS) this.#known.delete(name);
    }
  }

  get size(): number {
    return this.#known.size;
  }
}

function nameOf(item: RevItem): string {
  return `${item.kind}:${item.kind === "all" ? "*" : item.id}`;
}

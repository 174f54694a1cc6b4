/**
 * Who is active, in order of weight, and the slot caps that follow. Caps are worked out from the heaviest `2 * slots`
 * members only, so that a thousand waiting tenants cost no more than there are slots; they are kept until something
 * changes. A share of 0 counts as a cap of 1: more members than slots take turns (decisions §20.4).
 */
import { apportion } from "./apportion.ts";
import { IndexedHeap } from "./indexed-heap.ts";

export interface Member {
  /** Position among equals: earlier first. */
  readonly order: number;
}

export class Roster<T extends Member> {
  readonly #weights = new Map<T, number>();
  readonly #heaviest: IndexedHeap<T>;
  #totalWeight = 0;
  #caps: { readonly slots: number; readonly byMember: ReadonlyMap<T, number> } | null = null;

  constructor(probe: () => void) {
    this.#heaviest = new IndexedHeap((a, b) => {
      probe();
      return this.#weightOf(b) - this.#weightOf(a) || a.order - b.order;
    });
  }

  /** Adds a member, or gives it a new weight. */
  put(member: T, weight: number): void {
    const known = this.#weights.get(member);
    if (known === weight) return;
    this.#weights.set(member, weight);
    this.#heaviest.put(member);
    this.#totalWeight += weight - (known ?? 0);
    this.#caps = null;
  }

  remove(member: T): void {
    const weight = this.#weights.get(member);
    if (weight === undefined) return;
    this.#heaviest.remove(member);
    this.#weights.delete(member);
    this.#totalWeight -= weight;
    this.#caps = null;
  }

  /** The cap of a member when `slots` are shared among all; at least 1. */
  capOf(member: T, slots: number): number {
    if (this.#caps === null || this.#caps.slots !== slots) {
      const heaviest: T[] = [];
      for (const next of this.#heaviest.inOrder()) if (heaviest.push(next) >= 2 * slots) break;
      const shares = apportion(
        slots,
        heaviest.map((next) => this.#weightOf(next)),
        this.#totalWeight,
      );
      const byMember = new Map(heaviest.map((next, at) => [next, Math.max(shares[at] ?? 0, 1)]));
      this.#caps = { slots, byMember };
    }
    return this.#caps.byMember.get(member) ?? 1;
  }

  #weightOf(member: T): number {
    return this.#weights.get(member) ?? 0;
  }
}

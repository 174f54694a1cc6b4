/**
 * Who is active, in order of weight, and the slot caps that follow. Caps are worked out from the heaviest `2 * slots`
 * members only, so that a thousand waiting tenants cost no more than there are slots; they are kept until something
 * changes. A share of 0 counts as a cap of 1: more members than slots take turns (decisions §20.4).
 */
import { apportion } from "./apportion.ts";

export interface Member {
  /** Position among equals: earlier first. */
  readonly order: number;
}

interface Place<T> {
  readonly member: T;
  readonly weight: number;
}

export class Roster<T extends Member> {
  readonly #places: Place<T>[] = [];
  readonly #weights = new Map<T, number>();
  #totalWeight = 0;
  #caps: { readonly slots: number; readonly byMember: ReadonlyMap<T, number> } | null = null;

  get size(): number {
    return this.#places.length;
  }

  get totalWeight(): number {
    return this.#totalWeight;
  }

  /** Adds a member, or gives it a new weight. */
  put(member: T, weight: number): void {
    if (this.#weights.get(member) === weight) return;
    this.remove(member);
    const place = { member, weight };
    this.#places.splice(this.#find(place), 0, place);
    this.#weights.set(member, weight);
    this.#totalWeight += weight;
    this.#caps = null;
  }

  remove(member: T): void {
    const weight = this.#weights.get(member);
    if (weight === undefined) return;
    this.#places.splice(this.#find({ member, weight }), 1);
    this.#weights.delete(member);
    this.#totalWeight -= weight;
    this.#caps = null;
  }

  /** The cap of a member when `slots` are shared among all; at least 1. */
  capOf(member: T, slots: number): number {
    if (this.#caps === null || this.#caps.slots !== slots) {
      const heaviest = this.#places.slice(0, Math.max(2 * slots, 1));
      const shares = apportion(
        slots,
        heaviest.map((place) => place.weight),
        this.#totalWeight,
      );
      const byMember = new Map(heaviest.map((place, at) => [place.member, Math.max(shares[at] ?? 0, 1)]));
      this.#caps = { slots, byMember };
    }
    return this.#caps.byMember.get(member) ?? 1;
  }

  #find(place: Place<T>): number {
    let low = 0;
    let high = this.#places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const there = this.#places[middle];
      if (there !== undefined && comesBefore(there, place)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function comesBefore<T extends Member>(a: Place<T>, b: Place<T>): boolean {
  return a.weight === b.weight ? a.member.order < b.member.order : a.weight > b.weight;
}

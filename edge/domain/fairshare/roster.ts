/**
 * Who is active, in order of weight, and the slot caps that follow. Caps are worked out from the heaviest `2 * slots`
 * members only, so that a thousand waiting tenants cost no more than there are slots; they are kept until something
 * changes. A share of 0 counts as a cap of 1: more members than slots take turns (decisions §20.4). So do members of one
 * weight at the slots that cannot be divided among them: nobody's place in the list makes it richer.
 */
import { apportion } from "./apportion.ts";
import { IndexedHeap } from "./indexed-heap.ts";

export interface Member {
  /** Position among equals: earlier first. */
  readonly order: number;
  readonly inFlight: number;
}

/** Members of one weight: each has `floor` slots, and `turns` of them one more. */
interface Equals<T> {
  floor: number;
  turns: number;
  /** Who has one more now. */
  readonly above: Set<T>;
}

interface Caps<T> {
  readonly slots: number;
  readonly byMember: ReadonlyMap<T, number>;
  readonly byWeight: ReadonlyMap<number, Equals<T>>;
}

export class Roster<T extends Member> {
  readonly #weights = new Map<T, number>();
  readonly #heaviest: IndexedHeap<T>;
  #totalWeight = 0;
  #caps: Caps<T> | null = null;

  constructor(probe: () => void) {
    this.#heaviest = new IndexedHeap((a, b) => {
      probe();
      return this.#weightOf(b) - this.#weightOf(a) || a.order - b.order;
    });
  }

  /** Adds a member, or takes note of its weight and the slots it holds now. */
  put(member: T, weight: number): void {
    const known = this.#weights.get(member);
    if (known === weight) {
      const equals = this.#caps?.byWeight.get(weight);
      if (equals !== undefined) noteHeld(equals, member);
      return;
    }
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

  /** The share of a member when `slots` are divided among all; at least 1. Equals may be shown one apart. */
  capOf(member: T, slots: number): number {
    return this.#capsOf(slots).byMember.get(member) ?? 1;
  }

  /** The most slots a member can come to hold when `slots` are divided among all, its turn included. */
  mostOf(member: T, slots: number): number {
    const equals = this.#capsOf(slots).byWeight.get(this.#weightOf(member));
    return equals === undefined ? 1 : equals.floor + Math.min(1, equals.turns);
  }

  /** True when a member may hold one slot more. */
  isBelowCap(member: T, slots: number): boolean {
    const equals = this.#capsOf(slots).byWeight.get(this.#weightOf(member));
    if (equals === undefined) return member.inFlight < 1;
    return member.inFlight < equals.floor || (member.inFlight === equals.floor && equals.above.size < equals.turns);
  }

  #capsOf(slots: number): Caps<T> {
    if (this.#caps?.slots === slots) return this.#caps;
    const heaviest: T[] = [];
    for (const next of this.#heaviest.inOrder()) if (heaviest.push(next) >= 2 * slots) break;
    const shares = apportion(
      slots,
      heaviest.map((next) => this.#weightOf(next)),
      this.#totalWeight,
    );
    const byMember = new Map(heaviest.map((next, at) => [next, Math.max(shares[at] ?? 0, 1)]));
    this.#caps = { slots, byMember, byWeight: this.#equals(byMember) };
    return this.#caps;
  }

  #equals(byMember: ReadonlyMap<T, number>): ReadonlyMap<number, Equals<T>> {
    const byWeight = new Map<number, Equals<T>>();
    for (const [member, cap] of byMember) {
      const equals = byWeight.get(this.#weightOf(member));
      if (equals === undefined) byWeight.set(this.#weightOf(member), { floor: cap, turns: 0, above: new Set() });
      else equals.floor = Math.min(equals.floor, cap);
    }
    for (const [member, cap] of byMember) {
      const equals = byWeight.get(this.#weightOf(member));
      if (equals === undefined) continue;
      equals.turns += cap - equals.floor;
      noteHeld(equals, member);
    }
    return byWeight;
  }

  #weightOf(member: T): number {
    return this.#weights.get(member) ?? 0;
  }
}

function noteHeld<T extends Member>(equals: Equals<T>, member: T): void {
  if (member.inFlight > equals.floor) equals.above.add(member);
  else equals.above.delete(member);
}

/**
 * The active members (tenants or groups) by weight, and the slot caps that follow. Caps are computed for the weights that
 * occur, for the heaviest `2 * slots` members at most, so that a thousand waiting tenants cost no more than there are
 * slots; they are kept until something changes. A share of 0 counts as a cap of 1: when there are more members than slots,
 * they take turns (docs/rules/fairshare.md#slot-caps). Members of equal weight also take turns at the slots that cannot be
 * divided among them: the place in the list gives no member an advantage.
 */
import { apportionByClass, type ClassShare } from "../../../shared/fairshare/apportion-by-class.ts";
import { IndexedHeap } from "../../../shared/fairshare/indexed-heap.ts";

interface ActiveMember {
  readonly inFlight: number;
}

/** Members of one weight. */
interface Equals<T> {
  readonly weight: number;
  members: number;
  /** The members that hold a slot. */
  readonly holders: Set<T>;
}

/** What each member of a class may hold, and which members have more than their floor now. */
interface Cap<T> extends Readonly<ClassShare> {
  readonly above: Set<T>;
}

export class ActiveSet<T extends ActiveMember> {
  readonly #classOf = new Map<T, Equals<T>>();
  readonly #byWeight = new Map<number, Equals<T>>();
  readonly #heaviest: IndexedHeap<Equals<T>>;
  #totalWeight = 0;
  #caps: { readonly slots: number; readonly byClass: ReadonlyMap<Equals<T>, Cap<T>> } | null = null;

  constructor(probe: () => void) {
    this.#heaviest = new IndexedHeap((a, b) => {
      probe();
      return b.weight - a.weight;
    });
  }

  /** Adds a member, or updates its weight and the slots that it holds now. */
  put(member: T, weight: number): void {
    let equals = this.#classOf.get(member);
    if (equals?.weight !== weight) {
      this.remove(member);
      equals = this.#class(weight);
      equals.members += 1;
      this.#classOf.set(member, equals);
      this.#totalWeight += weight;
      this.#caps = null;
    }
    note(equals.holders, member, 0);
    const cap = this.#caps?.byClass.get(equals);
    if (cap !== undefined) note(cap.above, member, cap.floor);
  }

  remove(member: T): void {
    const equals = this.#classOf.get(member);
    if (equals === undefined) return;
    this.#classOf.delete(member);
    equals.holders.delete(member);
    equals.members -= 1;
    if (equals.members === 0) {
      this.#byWeight.delete(equals.weight);
      this.#heaviest.remove(equals);
    }
    this.#totalWeight -= equals.weight;
    this.#caps = null;
  }

  /** The most slots that a member can come to hold when `slots` are divided among all, its turn included. */
  mostOf(member: T, slots: number): number {
    const cap = this.#capOf(member, slots);
    return cap === undefined ? 1 : cap.floor + Math.min(1, cap.turns);
  }

  /** True when a member may hold one more slot. */
  isBelowCap(member: T, slots: number): boolean {
    const cap = this.#capOf(member, slots);
    if (cap === undefined) return member.inFlight < 1;
    return member.inFlight < cap.floor || (member.inFlight === cap.floor && cap.above.size < cap.turns);
  }

  /** True when a member may not hold one more slot, and its cap would be larger with a large enough weight. */
  isHeldByShare(member: T, slots: number): boolean {
    const members = this.#classOf.size;
    // However heavy it is, every other member keeps one slot while there are enough.
    const heaviestCap = slots >= members ? slots - (members - 1) : slots;
    if (this.isBelowCap(member, slots)) return false;
    return member.inFlight < heaviestCap || this.mostOf(member, slots) < heaviestCap;
  }

  #class(weight: number): Equals<T> {
    let equals = this.#byWeight.get(weight);
    if (equals === undefined) {
      equals = { weight, members: 0, holders: new Set() };
      this.#byWeight.set(weight, equals);
      this.#heaviest.put(equals);
    }
    return equals;
  }

  #capOf(member: T, slots: number): Cap<T> | undefined {
    const equals = this.#classOf.get(member);
    if (equals === undefined) return undefined;
    if (this.#caps?.slots !== slots) this.#caps = { slots, byClass: this.#shareOut(slots) };
    return this.#caps.byClass.get(equals);
  }

  #shareOut(slots: number): ReadonlyMap<Equals<T>, Cap<T>> {
    const heaviest: Equals<T>[] = [];
    let members = 0;
    for (const equals of this.#heaviest.inOrder()) {
      heaviest.push(equals);
      members += equals.members;
      if (members >= 2 * slots) break;
    }
    const shares = apportionByClass(slots, heaviest, this.#totalWeight);
    return new Map(
      heaviest.map((equals, at) => {
        const { floor, turns } = shares[at] ?? { floor: 1, turns: 0 };
        const above = turns === 0 ? [] : [...equals.holders].filter((member) => member.inFlight > floor);
        return [equals, { floor, turns, above: new Set(above) }];
      }),
    );
  }
}

function note<T extends ActiveMember>(set: Set<T>, member: T, moreThan: number): void {
  if (member.inFlight > moreThan) set.add(member);
  else set.delete(member);
}

/**
 * Waiters in order of arrival: append, leave from anywhere and look at the oldest, each in O(1). A Map in order of insertion
 * would not do: the places of those who left are walked over until it is rebuilt.
 */

/** What a queue asks of those in it. */
export interface Queued {
  readonly arrival: { readonly requestId: string };
  /** Position in the order of all arrivals. */
  readonly order: number;
}

interface Node<T> {
  readonly waiter: T;
  before: Node<T> | null;
  after: Node<T> | null;
}

export class WaiterQueue<T extends Queued> {
  readonly #nodes = new Map<string, Node<T>>();
  #first: Node<T> | null = null;
  #last: Node<T> | null = null;

  get size(): number {
    return this.#nodes.size;
  }

  get oldest(): T | undefined {
    return this.#first?.waiter;
  }

  /** The arrival order of the oldest; infinite when nobody waits. */
  get oldestOrder(): number {
    return this.#first?.waiter.order ?? Number.POSITIVE_INFINITY;
  }

  /** Appends a waiter that arrived after all others here. */
  add(waiter: T): void {
    const node: Node<T> = { waiter, before: this.#last, after: null };
    if (this.#last === null) this.#first = node;
    else this.#last.after = node;
    this.#last = node;
    this.#nodes.set(waiter.arrival.requestId, node);
  }

  /** A no-op for a request that does not wait here. */
  remove(requestId: string): void {
    const node = this.#nodes.get(requestId);
    if (node === undefined) return;
    this.#nodes.delete(requestId);
    if (node.before === null) this.#first = node.after;
    else node.before.after = node.after;
    if (node.after === null) this.#last = node.before;
    else node.after.before = node.before;
  }

  /** Takes in waiters from elsewhere, each at the place of its arrival; O(n log n). */
  merge(others: readonly T[]): void {
    const all = [...this.values(), ...others].sort((a, b) => a.order - b.order);
    this.#nodes.clear();
    this.#first = null;
    this.#last = null;
    for (const waiter of all) this.add(waiter);
  }

  /** Oldest first. */
  *values(): Generator<T, undefined> {
    for (let node = this.#first; node !== null; node = node.after) yield node.waiter;
    return undefined;
  }
}

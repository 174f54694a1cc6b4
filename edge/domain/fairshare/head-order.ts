/**
 * Heads in the order of each bottleneck, grouped by their witness: an earlier model of the same tenant that is a bottleneck
 * itself. Heads of one bottleneck whose witness has room are skipped together, however many they are. It only keeps the
 * order; tenant-pool.ts decides which witness a head has, and which head may be granted.
 */
import { IndexedHeap, type Order } from "../../../shared/fairshare/indexed-heap.ts";
import { type Bottleneck, type Head, hasRoom, type ModelState } from "./state.ts";

export class HeadOrder {
  readonly #heaps = new Map<Bottleneck, Map<ModelState | null, IndexedHeap<Head>>>();
  readonly #order: Order<Head>;
  readonly #probe: () => void;

  /** `order`: of heads at one bottleneck; `probe` is called for every heap that is examined. */
  constructor(order: Order<Head>, probe: () => void) {
    this.#order = order;
    this.#probe = probe;
  }

  /** True when a head competes at another bottleneck than the shared one. */
  get isDivided(): boolean {
    return this.#heaps.size > (this.#heaps.has(null) ? 1 : 0);
  }

  /** The bottlenecks at which a head competes. */
  bottlenecks(): readonly Bottleneck[] {
    return [...this.#heaps.keys()];
  }

  has(bottleneck: Bottleneck): boolean {
    return this.#heaps.has(bottleneck);
  }

  /** Moves a head to the place where it belongs now. */
  put(head: Head, bottleneck: Bottleneck, witness: ModelState | null): void {
    let heaps = this.#heaps.get(bottleneck);
    if (heaps === undefined) {
      heaps = new Map();
      this.#heaps.set(bottleneck, heaps);
    }
    let heap = heaps.get(witness);
    if (heap === undefined) {
      heap = new IndexedHeap(this.#order);
      heaps.set(witness, heap);
    }
    if (head.bottleneck !== bottleneck || head.witness !== witness) this.remove(head);
    head.bottleneck = bottleneck;
    head.witness = witness;
    heap.put(head);
  }

  /** Does nothing for a head that is not here. */
  remove(head: Head): void {
    const heaps = this.#heaps.get(head.bottleneck);
    const heap = heaps?.get(head.witness);
    heap?.remove(head);
    if (heap?.size !== 0) return;
    heaps?.delete(head.witness);
    if (heaps?.size === 0) this.#heaps.delete(head.bottleneck);
  }

  /** The first head of a bottleneck, for any witness. */
  lowest(bottleneck: Bottleneck): Head | undefined {
    return this.#firstOf([...(this.#heaps.get(bottleneck)?.values() ?? [])]);
  }

  /** The first head of a bottleneck whose witness has no room. */
  first(bottleneck: Bottleneck): Head | undefined {
    const heaps = this.#heaps.get(bottleneck);
    if (heaps?.size === 1 && heaps.has(null)) return heaps.get(null)?.peek();
    return this.#firstOf(this.#enabled(bottleneck));
  }

  /**
   * All heads of a bottleneck whose witness has no room, in order, computed only as far as they are read; nothing may
   * change meanwhile.
   */
  *inOrder(bottleneck: Bottleneck): Generator<Head, undefined> {
    const fronts = new IndexedHeap<{ head: Head; readonly rest: Generator<Head, undefined> }>((a, b) =>
      this.#order(a.head, b.head),
    );
    for (const heap of this.#enabled(bottleneck)) {
      const rest = heap.inOrder();
      const head = rest.next().value;
      if (head !== undefined) fronts.put({ head, rest });
    }
    for (let front = fronts.peek(); front !== undefined; front = fronts.peek()) {
      yield front.head;
      const following = front.rest.next().value;
      if (following === undefined) fronts.remove(front);
      else {
        front.head = following;
        fronts.put(front);
      }
    }
    return undefined;
  }

  #firstOf(heaps: readonly IndexedHeap<Head>[]): Head | undefined {
    let top: Head | undefined;
    for (const heap of heaps) {
      const head = heap.peek();
      if (head !== undefined && (top === undefined || this.#order(head, top) < 0)) top = head;
    }
    return top;
  }

  #enabled(bottleneck: Bottleneck): readonly IndexedHeap<Head>[] {
    const enabled: IndexedHeap<Head>[] = [];
    for (const [witness, heap] of this.#heaps.get(bottleneck) ?? []) {
      this.#probe();
      if (witness === null || !hasRoom(witness)) enabled.push(heap);
    }
    return enabled;
  }
}

/**
 * Heads in the order of each line, by their witness: an earlier watched model of the same tenant. Heads of one line whose witnesses have room are passed over
 * together, however many they are. Keeps the order; which witness a head has, and who may be granted, is decided elsewhere (tenant-pool.ts).
 */
import { IndexedHeap, type Order } from "./indexed-heap.ts";
import { type Bottleneck, type Head, hasRoom, type ModelState } from "./state.ts";

export class HeadOrder {
  readonly #heaps = new Map<Bottleneck, Map<ModelState | null, IndexedHeap<Head>>>();
  readonly #order: Order<Head>;
  readonly #probe: () => void;

  /** `order`: of heads in one line; `probe` is told of every heap that is looked at. */
  constructor(order: Order<Head>, probe: () => void) {
    this.#order = order;
    this.#probe = probe;
  }

  /** Somebody stands in another line than the open one. */
  get isDivided(): boolean {
    return this.#heaps.size > (this.#heaps.has(null) ? 1 : 0);
  }

  /** The lines in which somebody stands. */
  bottlenecks(): readonly Bottleneck[] {
    return [...this.#heaps.keys()];
  }

  has(line: Bottleneck): boolean {
    return this.#heaps.has(line);
  }

  /** Puts a head where it now belongs, from wherever it stood. */
  put(head: Head, line: Bottleneck, witness: ModelState | null): void {
    let heaps = this.#heaps.get(line);
    if (heaps === undefined) {
      heaps = new Map();
      this.#heaps.set(line, heaps);
    }
    let heap = heaps.get(witness);
    if (heap === undefined) {
      heap = new IndexedHeap(this.#order);
      heaps.set(witness, heap);
    }
    if (head.bottleneck !== line || head.witness !== witness) this.remove(head);
    head.bottleneck = line;
    head.witness = witness;
    heap.put(head);
  }

  /** A no-op for a head that does not stand here. */
  remove(head: Head): void {
    const heaps = this.#heaps.get(head.bottleneck);
    const heap = heaps?.get(head.witness);
    heap?.remove(head);
    if (heap?.size !== 0) return;
    heaps?.delete(head.witness);
    if (heaps?.size === 0) this.#heaps.delete(head.bottleneck);
  }

  /** The first of a line, whatever its witness. */
  lowest(line: Bottleneck): Head | undefined {
    return this.#firstOf([...(this.#heaps.get(line)?.values() ?? [])]);
  }

  /** The first of a line whose witness has no room. */
  first(line: Bottleneck): Head | undefined {
    const heaps = this.#heaps.get(line);
    if (heaps?.size === 1 && heaps.has(null)) return heaps.get(null)?.peek();
    return this.#firstOf(this.#enabled(line));
  }

  /** All of those, in order, worked out only as far as they are taken; nothing may change meanwhile. */
  *inOrder(line: Bottleneck): Generator<Head, undefined> {
    const fronts = new IndexedHeap<{ head: Head; readonly rest: Generator<Head, undefined> }>((a, b) =>
      this.#order(a.head, b.head),
    );
    for (const heap of this.#enabled(line)) {
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

  #enabled(line: Bottleneck): readonly IndexedHeap<Head>[] {
    const enabled: IndexedHeap<Head>[] = [];
    for (const [witness, heap] of this.#heaps.get(line) ?? []) {
      this.#probe();
      if (witness === null || !hasRoom(witness)) enabled.push(heap);
    }
    return enabled;
  }
}

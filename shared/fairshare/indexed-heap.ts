/**
 * A binary min-heap that knows the position of each item, so that an item can be re-ordered or removed in O(log n), and
 * that can be read in order without being changed.
 */

/** Negative when `a` comes first. */
export type Order<T> = (a: T, b: T) => number;

export class IndexedHeap<T> {
  readonly #items: T[] = [];
  readonly #places = new Map<T, number>();
  readonly #order: Order<T>;

  constructor(order: Order<T>) {
    this.#order = order;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  /** Every item, in no particular order. */
  values(): IterableIterator<T> {
    return this.#places.keys();
  }

  /** Adds the item, or moves it to the place where it belongs now. */
  put(item: T): void {
    let place = this.#places.get(item);
    if (place === undefined) {
      place = this.#items.push(item) - 1;
      this.#places.set(item, place);
    }
    this.#down(this.#up(place));
  }

  /** Removes the item; does nothing if it is not in the heap. */
  remove(item: T): void {
    const place = this.#places.get(item);
    if (place === undefined) return;
    this.#places.delete(item);
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#set(place, last);
    this.#down(this.#up(place));
  }

  /**
   * The items in order, computed only as far as they are read: O(k log k) for k items. The heap must not change meanwhile.
   */
  *inOrder(): Generator<T, undefined> {
    const top = this.#items[0];
    if (top === undefined) return undefined;
    if (this.#items.length === 1) {
      yield top;
      return undefined;
    }
    const frontier = new IndexedHeap<{ readonly item: T; readonly place: number }>((a, b) =>
      this.#order(a.item, b.item),
    );
    frontier.put({ item: top, place: 0 });
    for (let next = frontier.peek(); next !== undefined; next = frontier.peek()) {
      yield next.item;
      frontier.remove(next);
      for (const place of [2 * next.place + 1, 2 * next.place + 2]) {
        const item = this.#items[place];
        if (item !== undefined) frontier.put({ item, place });
      }
    }
    return undefined;
  }

  #set(place: number, item: T): void {
    this.#items[place] = item;
    this.#places.set(item, place);
  }

  #up(start: number): number {
    let place = start;
    const item = this.#items[place];
    while (place > 0 && item !== undefined) {
      const parentPlace = (place - 1) >> 1;
      const parent = this.#items[parentPlace];
      if (parent === undefined || this.#order(item, parent) >= 0) break;
      this.#set(place, parent);
      this.#set(parentPlace, item);
      place = parentPlace;
    }
    return place;
  }

  #down(start: number): void {
    let place = start;
    const item = this.#items[place];
    if (item === undefined) return;
    for (;;) {
      const left = 2 * place + 1;
      const right = left + 1;
      let childPlace = left;
      let child = this.#items[left];
      const other = this.#items[right];
      if (child === undefined) return;
      if (other !== undefined && this.#order(other, child) < 0) {
        childPlace = right;
        child = other;
      }
      if (this.#order(child, item) >= 0) return;
      this.#set(place, child);
      this.#set(childPlace, item);
      place = childPlace;
    }
  }
}

/**
 * A binary min-heap that knows where each item stands, so that an item can be re-ordered or removed in O(log n), and that
 * can be searched in order without being changed.
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

  has(item: T): boolean {
    return this.#places.has(item);
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  /** Adds the item, or puts it where it now belongs. */
  put(item: T): void {
    let place = this.#places.get(item);
    if (place === undefined) {
      place = this.#items.push(item) - 1;
      this.#places.set(item, place);
    }
    this.#down(this.#up(place));
  }

  /** Removes the item; a no-op when it is not there. */
  remove(item: T): void {
    const place = this.#places.get(item);
    if (place === undefined) return;
    this.#places.delete(item);
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#set(place, last);
    this.#down(this.#up(place));
  }

  /** The first item in order that fits; O(k log k + k^2 / 2) moves at worst when k items are looked at. */
  first(fits: (item: T) => boolean): T | undefined {
    for (const item of this.inOrder()) if (fits(item)) return item;
    return undefined;
  }

  /** Items in order, worked out only as far as they are taken; the heap must not change meanwhile. */
  *inOrder(): Generator<T, undefined> {
    const frontier: number[] = [];
    const push = (place: number): void => {
      const item = this.#items[place];
      if (item === undefined) return;
      let at = frontier.length;
      while (at > 0 && this.#before(item, this.#items[frontier[at - 1] ?? 0])) at -= 1;
      frontier.splice(at, 0, place);
    };
    push(0);
    for (let place = frontier.shift(); place !== undefined; place = frontier.shift()) {
      const item = this.#items[place];
      if (item !== undefined) yield item;
      push(2 * place + 1);
      push(2 * place + 2);
    }
    return undefined;
  }

  values(): Iterable<T> {
    return this.#items;
  }

  #before(a: T, b: T | undefined): boolean {
    return b !== undefined && this.#order(a, b) < 0;
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

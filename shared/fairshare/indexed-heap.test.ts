import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IndexedHeap } from "./indexed-heap.ts";

interface Item {
  readonly id: number;
  key: number;
}

describe("an indexed heap", () => {
  it("keeps items in order while they come, go and change", () => {
    const step = fc.record({ id: fc.nat(20), key: fc.nat(50), remove: fc.boolean(), reads: fc.nat(21) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
        const items = Array.from({ length: 21 }, (_, id): Item => ({ id, key: 0 }));
        const order = (a: Item, b: Item): number => a.key - b.key || a.id - b.id;
        const heap = new IndexedHeap<Item>(order);
        const present = new Set<Item>();
        for (const { id, key, remove, reads } of steps) {
          const item = items[id];
          if (item === undefined) continue;
          if (remove) {
            heap.remove(item);
            present.delete(item);
          } else {
            item.key = key;
            heap.put(item);
            present.add(item);
          }
          const expected = [...present].toSorted(order);
          const first: Item[] = [];
          for (const one of heap.inOrder()) {
            if (first.length === reads) break;
            first.push(one);
          }
          expect(first).toEqual(expected.slice(0, reads));
          expect([...heap.values()].toSorted(order)).toEqual(expected);
          expect([...heap.inOrder()]).toEqual(expected);
          expect({ first: heap.peek(), size: heap.size }).toEqual({ first: expected[0], size: expected.length });
        }
      }),
    );
  });
});

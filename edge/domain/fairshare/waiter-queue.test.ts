import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Queued, WaiterQueue } from "./waiter-queue.ts";

const waiter = (order: number): Queued => ({ arrival: { requestId: `r${order}` }, order });

describe("a queue of waiters", () => {
  it("is in order of arrival, whoever leaves and whoever is taken in", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("add" as const) }),
      fc.record({ kind: fc.constant("remove" as const), pick: fc.nat(60) }),
      fc.record({ kind: fc.constant("merge" as const), count: fc.nat(4) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
        const queue = new WaiterQueue();
        // even orders join here, odd ones wait elsewhere until they are merged in
        let expected: Queued[] = [];
        let elsewhere: Queued[] = [];
        let order = 0;
        for (const given of steps) {
          order += 2;
          elsewhere.push(waiter(order + 1));
          if (given.kind === "add") {
            queue.add(waiter(order));
            expected.push(waiter(order));
          } else if (given.kind === "remove") {
            queue.remove(`r${given.pick}`);
            expected = expected.filter((other) => other.arrival.requestId !== `r${given.pick}`);
          } else {
            queue.merge(elsewhere.slice(0, given.count));
            expected = [...expected, ...elsewhere.slice(0, given.count)].toSorted((a, b) => a.order - b.order);
            elsewhere = elsewhere.slice(given.count);
          }
          expect([...queue.values()]).toEqual(expected);
          expect([queue.size, queue.oldest]).toEqual([expected.length, expected[0]]);
          expect(queue.oldestOrder).toBe(expected[0]?.order ?? Number.POSITIVE_INFINITY);
        }
      }),
    );
  });
});

/** However endpoints are moved, they stand where they were put, with as few changes as possible. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstEndpoints, orderChanges } from "./endpoint-order.ts";

/** As the API lists them: by priority, then by name. */
const byOrder = (a: { priority: number; id: string }, b: { priority: number; id: string }): number =>
  a.priority - b.priority || (a.id < b.id ? -1 : 1);

const listed = fc
  .uniqueArray(fc.record({ id: fc.uuid(), priority: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.maxSafeNat()) }), {
    selector: ({ id }) => id,
    minLength: 1,
    maxLength: 12,
  })
  .map((endpoints) => endpoints.sort(byOrder));

describe("a moved endpoint", () => {
  it("moves to its new place, and all others keep their order", () => {
    fc.assert(
      fc.property(listed, fc.nat(11), fc.nat(11), (endpoints, one, other) => {
        const from = one % endpoints.length;
        const to = other % endpoints.length;
        const changes = new Map(orderChanges(endpoints, from, to).map(({ id, priority }) => [id, priority]));
        for (const priority of changes.values()) expect(Number.isSafeInteger(priority) && priority >= 0).toBe(true);
        const after = endpoints
          .map(({ id, priority }) => ({ id, priority: changes.get(id) ?? priority }))
          .sort(byOrder)
          .map(({ id }) => id);
        const wanted = endpoints.map(({ id }) => id);
        wanted.splice(to, 0, ...wanted.splice(from, 1));
        expect(after).toEqual(wanted);
      }),
    );
  });

  it("changes only its own priority if there is room, else all of them", () => {
    const spread = [10, 20, 30].map((priority) => ({ id: `e${priority}`, priority }));
    expect(orderChanges(spread, 2, 0)).toEqual([{ id: "e30", priority: 4 }]);
    expect(orderChanges(spread, 0, 2)).toEqual([{ id: "e10", priority: 40 }]);
    const equal = ["a", "b", "c"].map((id) => ({ id, priority: 100 }));
    expect(orderChanges(equal, 2, 1)).toEqual([
      { id: "a", priority: 10 },
      { id: "c", priority: 20 },
      { id: "b", priority: 30 },
    ]);
  });

  it("changes nothing for a place that does not exist", () => {
    const one = [{ id: "a", priority: 1 }];
    for (const [from, to] of [
      [0, 0],
      [0, 1],
      [1, 0],
      [-1, 0],
      [0, Number.NaN],
    ] as const)
      expect(orderChanges(one, from, to)).toEqual([]);
  });
});

it("makes the base URL of a new model the first of its endpoints if it has further ones", () => {
  const [a, b] = ["http://gpu:8000/v1", "http://gpu:8001/v1"];
  const first = { name: "gpu:8000/v1", api_base: a, priority: 10 };
  const second = { name: "gpu:8001/v1", api_base: b };
  expect(firstEndpoints(a, [])).toEqual([]);
  expect(firstEndpoints(a, [b, a])).toEqual([first, { ...second, priority: 20 }]);
  expect(firstEndpoints("", [b])).toEqual([{ ...second, priority: 10 }]);
});

import fc from "fast-check";
import { expect, it } from "vitest";
import type { Change } from "../../../shared/wire/internal.ts";
import { Revisions } from "./revisions.ts";
import { schedulerEvents } from "./scheduler-events.ts";

const CHANGES: readonly Change[] = [
  { kind: "key", id: "k", rev: 1 },
  { kind: "key", id: "gone", rev: 1 },
  { kind: "tenant", id: "gone", rev: 1 },
  {
    kind: "tenant",
    id: "t",
    rev: 1,
    tenant: { weight: 7, max_in_flight: null, group: { name: "g", weight: 3 } },
  },
  { kind: "group", id: "g", rev: 1, group: { weight: 9 } },
  { kind: "model", id: "m", rev: 1, model: { max_in_flight: 2, admission_weight: 50, adaptive: null } },
  { kind: "all", id: "*", rev: 1 },
];

it("turns changes into scheduler events, and leaves out what it does not know", () => {
  expect(schedulerEvents(CHANGES)).toEqual([
    { type: "tenant", id: "t", weight: 7, maxInFlight: null, group: { name: "g", weight: 3 } },
    { type: "group", name: "g", weight: 9 },
    { type: "model", name: "m", maxInFlight: 2, admissionWeight: 50, adaptive: null },
  ]);
});

it("ends with the newest values in whatever order changes come, and however often", () => {
  const change = fc.record({ id: fc.constantFrom("a", "b"), rev: fc.integer({ min: 1, max: 9 }) });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const revisions = new Revisions();
      const weights = new Map<string, number>();
      for (const { id, rev } of changes) {
        const item: Change = { kind: "group", id, rev, group: { weight: rev * 10 } };
        revisions.note([item], 0);
        for (const event of schedulerEvents(revisions.current([item])))
          if (event.type === "group") weights.set(event.name, event.weight);
      }
      for (const id of ["a", "b"]) {
        const revs = changes.filter((one) => one.id === id).map((one) => one.rev);
        expect(weights.get(id)).toBe(revs.length === 0 ? undefined : Math.max(...revs) * 10);
      }
    }),
  );
});

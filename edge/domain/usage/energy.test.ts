/** The energy of a request by the formulas of docs/rules/energy.md#formulas. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { type EnergyTerms, energyUsed } from "./energy.ts";

const terms: EnergyTerms = { enabled: true, usdPerKwh: 0.25, co2GramsPerKwh: 400, pue: 1.5 };
const reading = { clusterWatts: 8000, nodeCount: 4 };
const nothing = { energy_wh: 0, energy_cost_usd: 0, co2_g: 0 };

it("is the share of one slot of one node, with the site's overhead, while it was held", () => {
  // 8000 W / 4 nodes / 10 slots x 1.5 = 300 W; 36 s of it are 3 Wh.
  expect(energyUsed(terms, reading, 10, 36_000)).toEqual({ energy_wh: 3, energy_cost_usd: 0.00075, co2_g: 1.2 });
});

it.each([
  ["accounting is off", { ...terms, enabled: false }, reading, 10],
  ["the terms are not known", null, reading, 10],
  ["there is no reading", terms, null, 10],
  ["no node was measured", terms, { clusterWatts: 8000, nodeCount: 0 }, 10],
  ["the reading is below 0", terms, { clusterWatts: -8000, nodeCount: 4 }, 10],
  ["the model takes no part", terms, reading, 0],
  ["a figure is no number", { ...terms, usdPerKwh: Number.POSITIVE_INFINITY }, reading, 10],
])("is nothing when %s", (_, known, read, slots) => {
  expect(energyUsed(known, read, slots, 36_000)).toEqual(nothing);
});

it("is always finite, never below 0, and grows with the time", () => {
  const figure = fc.double({ min: 0, max: 1e9, noNaN: true });
  fc.assert(
    fc.property(
      fc.record({ enabled: fc.boolean(), usdPerKwh: figure, co2GramsPerKwh: figure, pue: figure }),
      fc.record({ clusterWatts: fc.double(), nodeCount: fc.double() }),
      fc.nat(100),
      fc.nat(),
      (anyTerms, anyReading, slots, ms) => {
        const [less, more] = [ms, 2 * ms].map((servedMs) => energyUsed(anyTerms, anyReading, slots, servedMs));
        for (const field of ["energy_wh", "energy_cost_usd", "co2_g"] as const) {
          expect(Number.isFinite(less?.[field]) && Number.isFinite(more?.[field])).toBe(true);
          expect(Math.min(less?.[field] ?? -1, more?.[field] ?? -1)).toBeGreaterThanOrEqual(0);
        }
        // a number that is too large counts as nothing
        expect(more?.energy_wh === 0 || (more?.energy_wh ?? -1) >= (less?.energy_wh ?? 0)).toBe(true);
      },
    ),
  );
});

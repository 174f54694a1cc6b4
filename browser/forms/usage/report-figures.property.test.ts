/** The totals of a report are the sums of its rows, in any order and grouping; what is not known is never 0. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changeOf, type ReportFigures, reportFigures, reportTotals } from "./report-figures.ts";

const NANO = 1e9;
const NAMES = Object.keys(reportTotals([])) as readonly (keyof ReportFigures)[];

const row = (change: Partial<Parameters<typeof reportFigures>[0]> = {}) => ({
  requests: 2,
  success_requests: 2,
  refused_requests: 0,
  failed_requests: 0,
  cache_hits: 0,
  input_tokens: 10,
  output_tokens: 20,
  total_tokens: 30,
  cost_usd: 0.1,
  energy_wh: 1,
  energy_cost_usd: 0.2,
  co2_g: 3,
  ...change,
});
const nanoUsd = fc.integer({ min: 0, max: 5e12 });
const rowOf = (nano: number) => reportFigures(row({ cost_usd: nano / NANO, cache_hits: nano === 0 ? 2 : 0 }));

describe("reportTotals", () => {
  it("has the sum of the rows to the last decimal, in any order and by any grouping", () => {
    fc.assert(
      fc.property(fc.array(nanoUsd, { maxLength: 60 }), fc.nat(), (costs, cut) => {
        const rows = costs.map(rowOf);
        const expected = Number(costs.reduce((sum, nano) => sum + BigInt(nano), 0n)) / NANO;
        expect(reportTotals(rows).costUsd).toBe(expected);
        expect(reportTotals(rows.toReversed()).costUsd).toBe(expected);
        const at = cut % (rows.length + 1);
        const parts = [rows.slice(0, at), rows.slice(at)].map(reportTotals);
        if (expected < 1e6) expect(reportTotals(parts).costUsd).toBe(expected);
      }),
    );
  });

  it("is never NaN, infinite or text, whatever the rows say", () => {
    const amount = fc.oneof(fc.double(), fc.constantFrom(Number.MAX_VALUE, Number.NaN, Number.POSITIVE_INFINITY));
    const hostile = fc.record(Object.fromEntries(Object.keys(row()).map((name) => [name, amount])) as never);
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 10 }), (rows) => {
        const totals = reportTotals(rows.map((one) => reportFigures(one as ReturnType<typeof row>)));
        for (const name of NAMES) expect(totals[name] === null || Number.isFinite(totals[name])).toBe(true);
      }),
    );
  });

  it("is not known where no row is, known where some are, and 0 of nothing", () => {
    const unpriced = reportFigures(row({ cost_usd: 0, energy_wh: 0, energy_cost_usd: 0, co2_g: 0 }));
    expect(unpriced).toMatchObject({ costUsd: null, energyWh: null, energyCostUsd: null, co2Grams: null, tokens: 30 });
    expect(reportTotals([unpriced, unpriced]).costUsd).toBeNull();
    expect(reportTotals([unpriced, reportFigures(row())])).toMatchObject({ costUsd: 0.1, energyWh: 1, requests: 4 });
    const refused = reportFigures(row({ success_requests: 0, total_tokens: 0, cost_usd: 0, energy_wh: 0 }));
    expect(reportTotals([unpriced, refused]).costUsd).toBeNull();
    expect(reportTotals([])).toMatchObject({ costUsd: 0, requests: 0, energyWh: 0 });
  });
});

describe("reportFigures", () => {
  it("knows that refusals and answers from the cache cost nothing", () => {
    const free = { cost_usd: 0, energy_wh: 0, energy_cost_usd: 0, co2_g: 0 };
    expect(reportFigures(row({ ...free, cache_hits: 2 }))).toMatchObject({ costUsd: 0, energyWh: 0, co2Grams: 0 });
    expect(reportFigures(row({ ...free, success_requests: 0, failed_requests: 2, total_tokens: 0 })).costUsd).toBe(0);
  });

  it("does not know what a stream that was left has cost without a price", () => {
    expect(reportFigures(row({ success_requests: 0, failed_requests: 2, cost_usd: 0 })).costUsd).toBeNull();
  });

  it("knows energy that costs nothing", () => {
    expect(reportFigures(row({ energy_cost_usd: 0, co2_g: 0 }))).toMatchObject({ energyCostUsd: 0, co2Grams: 0 });
  });
});

it("reports no change from zero or from an unknown value", () => {
  expect({
    growth: changeOf(10, 15),
    fromZero: changeOf(0, 5),
    fromUnknown: changeOf(null, 5),
    toUnknown: changeOf(5, null),
    toZero: changeOf(4, 0),
  }).toEqual({ growth: 0.5, fromZero: null, fromUnknown: null, toUnknown: null, toZero: -1 });
});

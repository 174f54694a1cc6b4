/** Histograms count every value in the first bucket that holds it, and in all that follow. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Histogram } from "./histogram.ts";

describe("a histogram", () => {
  it("counts values up to each bound, all of them, and their sum", () => {
    const bounds = [5, 10, 25];
    fc.assert(
      fc.property(fc.array(fc.nat(40)), (values) => {
        const histogram = new Histogram(bounds);
        for (const value of values) histogram.observe(value);
        const { samples, type } = histogram.family("gateway_ttft_ms");
        const upTo = (bound: number) => values.filter((value) => value <= bound).length;
        expect(type).toBe("histogram");
        expect(samples.map((sample) => [sample.suffix, sample.labels["le"], sample.value])).toEqual([
          ["_bucket", "5", upTo(5)],
          ["_bucket", "10", upTo(10)],
          ["_bucket", "25", upTo(25)],
          ["_bucket", "+Inf", values.length],
          ["_sum", undefined, values.reduce((sum, value) => sum + value, 0)],
          ["_count", undefined, values.length],
        ]);
      }),
    );
  });
});

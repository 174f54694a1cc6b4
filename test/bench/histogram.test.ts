import { describe, expect, test } from "vitest";
import { latencies } from "./histogram.ts";

const close = (value: number, to: number) => expect(Math.abs(value - to) / to).toBeLessThan(0.002);

describe("percentiles", () => {
  test("are those of all lists together, within a thousandth", () => {
    const { seen } = latencies([
      Float64Array.from({ length: 500 }, (_, at) => at + 1),
      Float64Array.from({ length: 500 }, (_, at) => at + 501),
    ]);
    close(seen.p50, 500);
    close(seen.p99, 990);
    close(seen.p999, 999);
    close(seen.max, 1000);
  });

  test("of equal latencies are the same when corrected", () => {
    const { seen, corrected } = latencies([new Float64Array(100).fill(5)]);
    expect(corrected).toEqual(seen);
  });

  test("count a stall for the requests that were not sent meanwhile, when corrected", () => {
    const { seen, corrected } = latencies([Float64Array.from([...new Float64Array(9999).fill(1), 10_000])]);
    close(seen.p99, 1);
    expect(corrected.p99).toBeGreaterThan(9000);
    close(corrected.max, 10_000);
  });

  test("of nothing are not numbers", () => {
    expect(latencies([]).seen.p50).toBeNaN();
    expect(latencies([]).corrected.p99).toBeNaN();
  });
});

/** The figures of a benchmark (docs/rules/benchmarks.md#figures). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BenchmarkSample, pointsOf, resultOf } from "./figures.ts";
import { runLoad } from "./run-load.ts";

const sample = (startedMs: number, endedMs: number, rest: Partial<BenchmarkSample> = {}): BenchmarkSample => ({
  startedMs,
  endedMs,
  firstByteMs: startedMs + 1,
  status: 200,
  outputTokens: 2,
  ...rest,
});

describe("figures", () => {
  it("are of successes, and count the rest", () => {
    const samples = [sample(0, 100), sample(0, 300), sample(100, 900, { status: 429 }), sample(0, 50, { status: 0 })];
    expect(resultOf(samples, 2000)).toEqual({
      requests: 4,
      errors: 2,
      duration_ms: 2000,
      throughput_rps: 1,
      p50_ms: 100,
      p95_ms: 300,
      p99_ms: 300,
      ttft_p50_ms: 1,
      ttft_p95_ms: 1,
      output_tokens: 4,
      output_tokens_per_sec: 2,
      statuses: { 0: 1, 200: 2, 429: 1 },
    });
  });

  it("are null where there is nothing that they could be of", () => {
    expect(resultOf([], 0)).toMatchObject({ requests: 0, p50_ms: null, ttft_p95_ms: null, throughput_rps: 0 });
    expect(pointsOf([], 999)).toEqual([]);
  });

  it("second by second add up to the whole", () => {
    const samples = fc.array(
      fc.record({
        startedMs: fc.nat(5000),
        tookMs: fc.nat(5000),
        firstByteMs: fc.option(fc.nat(5000)),
        status: fc.constantFrom(0, 200, 201, 404, 429, 503),
        outputTokens: fc.nat(1_000_000),
      }),
    );
    fc.assert(
      fc.property(samples, (all) => {
        const given = all.map(({ startedMs, tookMs, ...rest }) => sample(startedMs, startedMs + tookMs, rest));
        const whole = resultOf(given, 10_000);
        const points = pointsOf(given, 11_000);
        const sum = (field: "requests" | "errors" | "output_tokens") =>
          points.reduce((total, point) => total + point[field], 0);
        expect({
          pointCount: points.length,
          requests: sum("requests"),
          errors: sum("errors"),
          output_tokens: sum("output_tokens"),
        }).toEqual({
          pointCount: 11,
          requests: whole.requests,
          errors: whole.errors,
          output_tokens: whole.output_tokens,
        });
        for (const { p50_ms, p95_ms } of points) expect(p95_ms ?? 0).toBeGreaterThanOrEqual(p50_ms ?? 0);
      }),
    );
  });
});

describe("the load", () => {
  it("never has more requests under way, nor sends more, than it may", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 60 }), async (concurrency, max) => {
        let [underWay, most, sent, samples] = [0, 0, 0, 0];
        await runLoad({
          concurrency,
          maxRequests: max,
          nowMs: () => 0,
          signal: new AbortController().signal,
          send: async () => {
            underWay += 1;
            sent += 1;
            most = Math.max(most, underWay);
            await Promise.resolve();
            underWay -= 1;
            return { firstByteMs: null, status: 200, outputTokens: 0 };
          },
          onSample: () => {
            samples += 1;
          },
        });
        expect({ sent, samples, underWay }).toEqual({ sent: max, samples: max, underWay: 0 });
        expect(most).toBeLessThanOrEqual(concurrency);
      }),
    );
  });

  it("ends with its signal, and does not count what that cuts off", async () => {
    const stop = new AbortController();
    const samples: BenchmarkSample[] = [];
    await runLoad({
      concurrency: 4,
      maxRequests: 1000,
      nowMs: () => 0,
      signal: stop.signal,
      send: async () => {
        if (samples.length === 10) stop.abort();
        return { firstByteMs: 0, status: 200, outputTokens: 0 };
      },
      onSample: (one) => samples.push(one),
    });
    expect(samples).toHaveLength(10);
  });
});

/** The figures of a load add up for any answers (docs/watch.md#load-tests). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadFigures } from "./load-figures.ts";
import { loadPlot } from "./load-plot.ts";
import type { LoadSample } from "./one-request.ts";
import { LoadOptionsError, parseLoadOptions } from "./options.ts";

const sample = fc
  .record({
    startMs: fc.double({ min: 0, max: 3_600_000, noNaN: true }),
    waitMs: fc.double({ min: 0, max: 600_000, noNaN: true }),
    restMs: fc.double({ min: 0, max: 600_000, noNaN: true }),
    outcome: fc.constantFrom("ok", "ok", "tenant_saturated", "cut_off"),
    outputTokens: fc.nat({ max: 10_000_000 }),
  })
  .map(
    ({ startMs, waitMs, restMs, outcome, outputTokens }): LoadSample => ({
      startMs,
      firstMs: outcome === "ok" ? startMs + waitMs : null,
      endMs: startMs + waitMs + restMs,
      outcome,
      outputTokens,
    }),
  );
const run = fc
  .record({ samples: fc.array(sample, { maxLength: 60 }), notSent: fc.nat() })
  .map((one) => ({ ...one, lastedMs: Math.max(0, ...one.samples.map(({ endMs }) => endMs)) }));

const anyText = fc.array(fc.nat({ max: 0xffff })).map((codes) => String.fromCharCode(...codes));

const AT_ONCE = {
  startMs: 0,
  firstMs: Number.MIN_VALUE,
  endMs: Number.MIN_VALUE,
  outcome: "ok" as const,
  outputTokens: 0,
};

describe("the figures of a load", () => {
  it("count every request once, in all and by time", () => {
    fc.assert(
      fc.property(run, (one) => {
        const figures = loadFigures(one);
        const failed = figures.failures.reduce((sum, [, count]) => sum + count, 0);
        expect(figures.ok + failed).toBe(one.samples.length);
        const inBuckets = figures.buckets.reduce((sum, { fromMs, okPerSecond, failedPerSecond }, at) => {
          const untilMs = figures.buckets[at + 1]?.fromMs ?? one.lastedMs;
          return sum + ((okPerSecond + failedPerSecond) * Math.max(1, untilMs - fromMs)) / 1000;
        }, 0);
        expect(inBuckets).toBeCloseTo(one.samples.length, 3);
        expect(figures.buckets.length).toBeLessThanOrEqual(121);
      }),
    );
  });

  it("have percentiles that are times which were measured, in their order", () => {
    fc.assert(
      fc.property(run, (one) => {
        const { total } = loadFigures(one);
        const { p50, p95, p99, max } = total;
        const times = one.samples
          .filter(({ outcome }) => outcome === "ok")
          .map(({ startMs, endMs }) => endMs - startMs);
        for (const value of [p50, p95, p99, max])
          expect(value === null ? times.length === 0 : times.includes(value)).toBe(true);
        expect([p50, p95, p99, max]).toEqual([p50, p95, p99, max].toSorted((a, b) => (a ?? 0) - (b ?? 0)));
      }),
    );
  });

  it("are drawn without invalid numbers, and without markup from outside", () => {
    fc.assert(
      fc.property(run, anyText, (one, title) => {
        const svg = loadPlot(loadFigures(one), `<b>&${title}`);
        expect(/NaN|Infinity|undefined|<b>/.exec(svg)).toBeNull();
        expect(svg.endsWith("</svg>\n")).toBe(true);
      }),
      // the smallest invalid time
      { examples: [[{ samples: [AT_ONCE], notSent: 0, lastedMs: Number.MIN_VALUE }, ""]] },
    );
  });
});

describe("the options of a load", () => {
  const GOOD = ["--url", "http://127.0.0.1:8080/v1/", "--model", "m", "--key", "k"];

  it("have bounds and defaults; the key may be a variable", () => {
    expect(parseLoadOptions(GOOD, {})).toMatchObject({
      baseUrl: "http://127.0.0.1:8080",
      concurrency: 8,
      rate: null,
      durationMs: 30_000,
      requestsMax: 10_000,
      isStreamed: true,
      svgPath: null,
    });
    expect(parseLoadOptions(GOOD.slice(0, 4), { GATEWAY_API_KEY: "from-variable" }).key).toBe("from-variable");
  });

  it.each([
    [["--url", "ftp://x", "--model", "m", "--key", "k"], "--url must"],
    [["--url", "http://x", "--key", "k"], "--model must"],
    [GOOD.slice(0, 4), "--key or the variable"],
    [[...GOOD, "--concurrency", "2001"], "--concurrency must be a whole number from 1 to 2000"],
    [[...GOOD, "--rate", "1e3"], "--rate must"],
    [[...GOOD, "--seconds", "-1"], "--seconds"],
    [[...GOOD, "--requests", "0"], "--requests must"],
    [[...GOOD, "--what", "1"], "--what"],
    [[...GOOD.slice(0, 4), "--key", "k\r\nhost: x"], "--key must have no spaces"],
  ])("%j is refused by name", (args, named) => {
    expect(() => parseLoadOptions(args, {})).toThrow(LoadOptionsError);
    expect(() => parseLoadOptions(args, {})).toThrow(named);
  });
});

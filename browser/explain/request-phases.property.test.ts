/** The parts of a request's time add up to the whole, whatever its row claims. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { measured, requestPhases, type TimedRow } from "./request-phases.ts";

const anyMs = fc.oneof(fc.nat(10_000), fc.double(), fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, 1e308, -1));
const row = fc.record({
  total_ms: anyMs,
  queue_wait_ms: anyMs,
  gateway_ms: anyMs,
  ttft_ms: anyMs,
  attempts: fc.nat(5),
});

describe("requestPhases", () => {
  it("follow each other from 0 and add up to the whole time", () => {
    fc.assert(
      fc.property(row, (one) => {
        let end = 0;
        for (const { fromMs, durationMs } of requestPhases(one)) {
          expect(fromMs).toBe(end);
          expect(durationMs).toBeGreaterThan(0);
          end = fromMs + durationMs;
        }
        expect(end).toBe(measured(one.total_ms));
      }),
    );
  });

  it("name the phases that a row distinguishes", () => {
    const times = { total_ms: 1000, queue_wait_ms: 300, gateway_ms: 100, ttft_ms: 200, attempts: 1 };
    const ids = (changed: Partial<TimedRow>): string =>
      requestPhases({ ...times, ...changed })
        .map(({ id, durationMs }) => `${id} ${durationMs}`)
        .join(", ");
    expect(ids({})).toBe("queue 300, gateway 100, first_token 200, stream 400");
    expect(ids({ attempts: 3 })).toBe("queue 300, gateway 100, first_token 200, stream_and_attempts 400");
    expect(ids({ ttft_ms: 0 })).toBe("queue 300, gateway 100, upstream 600");
    expect(ids({ total_ms: 300, ttft_ms: 0 })).toBe("queue 300");
    expect(ids({ status_code: 502, output_tokens: 0 })).toBe("queue 300, gateway 100, upstream 600");
    expect(ids({ status_code: 502, output_tokens: 5 })).toContain("first_token 200");
    expect(ids({ total_ms: 0 })).toBe("");
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AuthFailures } from "./auth-failures.ts";

/** Counts wrong tokens at these times; returns the reports, with their times. */
function play(tokens: readonly { readonly atMs: number; readonly address: string }[]) {
  const failures = new AuthFailures();
  const lines: [number, number][] = [];
  const alerts: [number, number, number][] = [];
  for (const { atMs, address } of tokens) {
    const { line, alert } = failures.note(address, atMs);
    if (line !== null) lines.push([atMs, line.failures]);
    if (alert !== null) alerts.push([atMs, alert.failures, alert.addresses]);
  }
  return { lines, alerts };
}

const every = (count: number, ms: number, address = (at: number) => `10.0.0.${at % 3}`) =>
  Array.from({ length: count }, (_, at) => ({ atMs: 1_000_000 + at * ms, address: address(at) }));

describe("wrong tokens", () => {
  it("are a line of the log at once, then at most once a second, with how many there were", () => {
    expect(play(every(25, 100)).lines).toEqual([
      [1_000_000, 1],
      [1_001_000, 10],
      [1_002_000, 10],
    ]);
  });

  it("raise an alert from twenty in a minute, once a minute while they continue", () => {
    expect(play(every(19, 10)).alerts).toEqual([]);
    expect(play(every(1_000, 100)).alerts).toEqual([
      [1_001_900, 20, 3],
      [1_061_900, 600, 3],
    ]);
  });

  it("raise no alert when they come slowly, however long that lasts", () => {
    expect(play(every(1_000, 3_200)).alerts).toEqual([]);
  });

  it("are remembered within bounds, from however many addresses they come", () => {
    expect(play(every(5_000, 1, (at) => `a${at}`)).alerts).toEqual([[1_000_019, 20, 20]]);
    const { alerts } = play(every(61_000, 1, (at) => `a${at}`));
    expect(alerts[1]).toEqual([1_060_019, 59_020, 1_000]);
  });

  it("raise at most one alert a minute and one line a second, each alert for twenty or more", () => {
    const token = fc.record({ waitMs: fc.integer({ min: 0, max: 9_000 }), address: fc.constantFrom("a", "b", "c") });
    fc.assert(
      fc.property(fc.array(token, { maxLength: 300 }), (tokens) => {
        let nowMs = 0;
        const arrivals = tokens.map(({ waitMs, address }) => {
          nowMs += waitMs;
          return { atMs: nowMs, address };
        });
        const { lines, alerts } = play(arrivals);
        for (const [at, [one]] of lines.slice(1).entries())
          expect(one - (lines[at]?.[0] ?? 0)).toBeGreaterThanOrEqual(1_000);
        for (const [at, [one]] of alerts.slice(1).entries())
          expect(one - (alerts[at]?.[0] ?? 0)).toBeGreaterThanOrEqual(60_000);
        for (const [, failures, addresses] of alerts) {
          expect(failures).toBeGreaterThanOrEqual(20);
          expect(addresses).toBeLessThanOrEqual(3);
        }
      }),
    );
  });

  it("are each counted in exactly one line", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 300 }), (waitsMs) => {
        let atMs = 0;
        const arrivals = waitsMs.map((waitMs) => {
          atMs += waitMs;
          return { atMs, address: "a" };
        });
        // The last line counts all that came since the line before.
        const { lines } = play([...arrivals, { atMs: atMs + 1_000, address: "a" }]);
        expect(lines.reduce((sum, [, failures]) => sum + failures, 0)).toBe(arrivals.length + 1);
      }),
    );
  });

  it("continue to be reported after the clock was set back", () => {
    const failures = new AuthFailures();
    for (let count = 0; count < 40; count += 1) failures.note("a", 9_000_000);
    const back = Array.from({ length: 20 }, (_, at) => failures.note("a", 5_000 + at));
    expect({ line: back[0]?.line, alert: back.at(-1)?.alert }).toEqual({
      line: { failures: 40 },
      alert: { failures: 20, addresses: 1 },
    });
  });
});

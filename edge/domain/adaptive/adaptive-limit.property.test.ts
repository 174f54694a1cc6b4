/** The laws of the adaptive limit, for any behaviour of an upstream (docs/rules/adaptive-capacity.md#laws). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AdaptiveLimit, type CapacityChange } from "./adaptive-limit.ts";
import type { EndedCall } from "./capacity-window.ts";

const WINDOW_MS = 2_000;

const call = fc.record({
  upstreamMs: fc.oneof(fc.nat(60_000), fc.constant(0), fc.constant(-5), fc.double({ noNaN: true, min: 0, max: 1e9 })),
  ttftMs: fc.oneof(fc.nat(60_000), fc.constant(0)),
  inputTokens: fc.oneof(fc.nat(5_000), fc.constant(Number.MAX_SAFE_INTEGER)),
  outputTokens: fc.oneof(fc.nat(5_000), fc.constant(0)),
  outcome: fc.constantFrom(
    "served" as const,
    "served" as const,
    "served" as const,
    "refused" as const,
    "other" as const,
  ),
  inFlight: fc.integer({ min: 0, max: 400 }),
  tenantId: fc.constantFrom("a", "b"),
  isAmongOthers: fc.boolean(),
});
const ALONE = { tenantId: "a", isAmongOthers: false };
const calls = fc.array(fc.record({ call, afterMs: fc.oneof(fc.nat(200), fc.nat(4_000)) }), { maxLength: 300 });
const bounds = fc.tuple(fc.integer({ min: 1, max: 300 }), fc.nat(300)).map(([min, more]) => ({ min, max: min + more }));

function changesOf(
  limit: AdaptiveLimit,
  ended: readonly { readonly call: EndedCall; readonly afterMs: number }[],
  each: (call: EndedCall, before: number, change: CapacityChange | null) => void,
): readonly CapacityChange[] {
  let nowMs = 0;
  return ended.flatMap(({ call: one, afterMs }) => {
    nowMs += afterMs;
    const before = limit.limit;
    const change = limit.ended(one, nowMs, () => 0.5);
    each(one, before, change);
    return change === null ? [] : [change];
  });
}

describe("the adaptive limit", () => {
  it("stays within its bounds and changes once per window, whatever calls end", () => {
    fc.assert(
      fc.property(bounds, fc.option(fc.nat(1_000)), calls, (given, start, ended) => {
        const limit = new AdaptiveLimit(given, start, 0);
        const changes = changesOf(limit, ended, (_call, before, change) => {
          expect(change?.to ?? before).toBe(limit.limit);
          expect(limit.limit).toBeGreaterThanOrEqual(given.min);
          expect(limit.limit).toBeLessThanOrEqual(given.max);
        });
        for (const [at, { atMs, from, to }] of changes.entries()) {
          expect(from).not.toBe(to);
          expect(atMs - (changes[at - 1]?.atMs ?? 0)).toBeGreaterThanOrEqual(WINDOW_MS);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("does not grow while its slots are not in use", () => {
    fc.assert(
      fc.property(bounds, fc.nat(300), calls, (given, start, ended) => {
        const limit = new AdaptiveLimit(given, start, 0);
        const first = limit.limit;
        const idle = ended.map((each) => ({ ...each, call: { ...each.call, inFlight: given.min - 1 } }));
        changesOf(limit, idle, () => expect(limit.limit).toBeLessThanOrEqual(first));
      }),
    );
  });

  it.each([32, 40, 300])("finds the knee from above, with %i clients", (clients) => {
    const limit = new AdaptiveLimit({ min: 2, max: 64 }, 64, 0);
    const knee = 8;
    let nowMs = 0;
    for (let at = 0; at < 4_000; at += 1) {
      const inFlight = Math.min(clients, limit.limit);
      const upstreamMs = 200 * Math.max(1, inFlight / knee);
      nowMs += upstreamMs / inFlight;
      const call = {
        upstreamMs,
        ttftMs: upstreamMs,
        inputTokens: 10,
        outputTokens: 10,
        outcome: "served",
        inFlight,
        ...ALONE,
      } as const;
      limit.ended(call, nowMs, () => 0.5);
    }
    expect(limit.limit).toBeGreaterThanOrEqual(6);
    expect(limit.limit).toBeLessThanOrEqual(10);
  });

  it("takes a first token that was measured as 0 ms for no reference of all later ones", () => {
    const limit = new AdaptiveLimit({ min: 4, max: 4_000 }, 64, 0);
    const served = {
      upstreamMs: 500,
      inputTokens: 10,
      outputTokens: 50,
      outcome: "served" as const,
      inFlight: 4_000,
      ...ALONE,
    };
    const ended = Array.from({ length: 2_000 }, (_, at) => ({
      call: { ...served, ttftMs: at < 200 ? 0 : 1 },
      afterMs: 50,
    }));
    const changes = changesOf(limit, ended, () => undefined);
    expect(changes.filter(({ reason }) => reason === "first_token")).toEqual([]);
  });

  it("takes answers whose end is late by chance for no streams with late first tokens", () => {
    const limit = new AdaptiveLimit({ min: 4, max: 64 }, 32, 0);
    const whole = { inputTokens: 10, outputTokens: 50, outcome: "served" as const, inFlight: 32, ...ALONE };
    const ended = Array.from({ length: 3_000 }, (_, at) => {
      const upstreamMs = at < 1_000 ? 300 : 900;
      const call = { ...whole, upstreamMs, ttftMs: at % 24 === 0 ? 0.94 * upstreamMs : upstreamMs };
      return { call, afterMs: 20 };
    });
    const changes = changesOf(limit, ended, () => undefined);
    expect(changes.filter(({ reason }) => reason === "first_token")).toEqual([]);
  });

  it("leaves its minimum again, where no probe can go below it", () => {
    const limit = new AdaptiveLimit({ min: 1, max: 64 }, 1, 0);
    const alone = { upstreamMs: 400, ttftMs: 100, inputTokens: 10, outputTokens: 20, outcome: "served" as const };
    const ended = Array.from({ length: 300 }, () => ({ call: { ...alone, inFlight: 1, ...ALONE }, afterMs: 400 }));
    expect(changesOf(limit, ended, () => undefined)[0]).toMatchObject({ from: 1, to: 2, reason: "throughput" });
  });

  it("follows new bounds at once", () => {
    fc.assert(
      fc.property(bounds, bounds, fc.nat(300), (before, after, start) => {
        const limit = new AdaptiveLimit(before, start, 0);
        const from = limit.limit;
        const to = Math.min(after.max, Math.max(after.min, from));
        expect(limit.bound(after, 1)).toEqual(from === to ? null : { from, to, reason: "bounds", atMs: 1 });
        expect(limit.limit).toBe(to);
      }),
    );
  });

  it("goes to a fraction of itself when the upstream refuses, and no lower than its minimum", () => {
    const limit = new AdaptiveLimit({ min: 3, max: 100 }, 64, 0);
    const refused: EndedCall = {
      upstreamMs: 1,
      ttftMs: 0,
      inputTokens: 1,
      outputTokens: 0,
      outcome: "refused",
      inFlight: 64,
      ...ALONE,
    };
    const refusals = Array.from({ length: 400 }, () => ({ call: refused, afterMs: 100 }));
    const changes = changesOf(limit, refusals, () => undefined);
    expect(changes[0]).toMatchObject({ from: 64, to: 48, reason: "refused" });
    expect(limit.limit).toBe(3);
  });

  describe("refusals of one tenant", () => {
    /** One tenant is refused now and then; the other's requests end at the same pace, or are under way all the time. */
    const capacityAfter = (othersEnd: boolean, alsoRefused: boolean): number => {
      const limit = new AdaptiveLimit({ min: 1, max: 64 }, 14, 0);
      const base = { upstreamMs: 400, ttftMs: 400, inputTokens: 10, outputTokens: 10, inFlight: 9 };
      for (let at = 1; at <= 400; at += 1) {
        const outcome = alsoRefused && at % 4 === 1 ? "refused" : "served";
        if (othersEnd) limit.ended({ ...base, outcome, tenantId: "b", isAmongOthers: true }, 100 * at, () => 0.5);
        if (at % 15 > 0) continue;
        const refused = { ...base, upstreamMs: 1, outcome: "refused" as const, tenantId: "a", isAmongOthers: true };
        limit.ended(refused, 100 * at, () => 0.5);
      }
      return limit.limit;
    };

    it("teach nothing while requests of others are served, or under way", () => {
      expect({ served: capacityAfter(true, false) >= 12, underWay: capacityAfter(false, false) }).toEqual({
        served: true,
        underWay: 14,
      });
    });

    it("count where others are refused as well", () => {
      expect(capacityAfter(true, true)).toBe(1);
    });
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NO_AMOUNTS } from "./amounts.ts";
import {
  adjustBucket,
  bucketLevel,
  fullBucket,
  msUntil,
  NO_BUCKET,
  retryAfterMs,
  shortRate,
  tightestLevel,
  touchBucket,
} from "./token-bucket.ts";

/** How long an estimate waits for a tenant's bucket of tokens. */
const waitOf = (tokens: ReturnType<typeof fullBucket>, bucketTokens: number) =>
  retryAfterMs({ tenant: { tokens, requests: NO_BUCKET }, key: null }, { ...NO_AMOUNTS, bucketTokens });

describe("the token bucket", () => {
  it("starts full and refills cap / 60000 per ms, never above the cap", () => {
    const spent = adjustBucket(fullBucket(600, 0), -600);
    expect(touchBucket(spent, 600, 100).levelTokens).toBe(1);
    expect(touchBucket(spent, 600, 150).levelTokens).toBe(1.5);
    expect(touchBucket(spent, 600, 90_000).levelTokens).toBe(600);
  });

  it("is cut to a lower cap at the next touch, and refills at the old rate until then", () => {
    const spent = adjustBucket(fullBucket(600, 0), -600);
    expect(touchBucket(spent, 100, 5_000)).toEqual({ capTokens: 100, levelTokens: 50, atMs: 5_000 });
    expect(touchBucket(fullBucket(600, 0), 100, 0).levelTokens).toBe(100);
    expect(touchBucket(fullBucket(100, 0), 600, 0).levelTokens).toBe(100);
  });

  it("is full when a cap first appears", () => {
    expect(touchBucket(fullBucket(0, 0), 600, 7)).toEqual(fullBucket(600, 7));
  });

  it("turns over-use into debt down to minus the cap", () => {
    expect(adjustBucket(fullBucket(100, 0), -130).levelTokens).toBe(-30);
    expect(adjustBucket(fullBucket(100, 0), -1_000).levelTokens).toBe(-100);
  });

  it("says how long an estimate has to wait; one above the cap waits until it is full", () => {
    const empty = adjustBucket(fullBucket(600, 0), -600);
    expect(waitOf(empty, 30)).toBe(3_000);
    expect(waitOf(empty, 9_999)).toBe(60_000);
    expect(waitOf(adjustBucket(empty, 599.99), 600)).toBe(1);
    expect(msUntil(fullBucket(600, 0), 600)).toBe(0);
  });

  it("shows whole tokens, nothing below zero, and nothing without a cap", () => {
    expect(bucketLevel(adjustBucket(fullBucket(600, 0), -0.5))).toEqual({
      limitTokens: 600,
      remainingTokens: 599,
      resetMs: 50,
    });
    expect(bucketLevel(adjustBucket(fullBucket(600, 0), -900))?.remainingTokens).toBe(0);
    expect(bucketLevel(fullBucket(0, 0))).toBeNull();
  });

  it("stays within its cap under any sequence, also when a clock steps back", () => {
    const moves = fc.array(fc.tuple(fc.integer({ min: -2_000, max: 2_000 }), fc.integer({ min: -500, max: 5_000 })));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), moves, (cap, list) => {
        let nowMs = 10_000;
        let bucket = fullBucket(cap, nowMs);
        for (const [delta, ms] of list) {
          nowMs += ms;
          const before = bucket;
          bucket = touchBucket(bucket, cap, nowMs);
          expect(bucket.levelTokens).toBeGreaterThanOrEqual(before.levelTokens);
          bucket = adjustBucket(bucket, delta);
          expect(Math.abs(bucket.levelTokens)).toBeLessThanOrEqual(cap);
        }
      }),
    );
  });
});

describe("the buckets of a tenant and a key", () => {
  const spent = (cap: number) => adjustBucket(fullBucket(cap, 0), -cap);

  it("show of every rate the one that has the least left", () => {
    const tenant = { tokens: fullBucket(600, 0), requests: spent(60) };
    const key = { tokens: fullBucket(100, 0), requests: fullBucket(5, 0) };
    expect(tightestLevel([tenant, key])).toEqual({
      limitTokens: 100,
      remainingTokens: 100,
      resetMs: 0,
      requests: { limitTokens: 60, remainingTokens: 0, resetMs: 60_000 },
    });
  });

  it("show requests alone where tokens have no limit, and nothing where nothing has", () => {
    const requests = { tokens: NO_BUCKET, requests: fullBucket(5, 0) };
    expect(tightestLevel([requests])).toMatchObject({ limitTokens: 0, requests: { limitTokens: 5 } });
    expect(tightestLevel([{ tokens: NO_BUCKET, requests: NO_BUCKET }])).toBeNull();
  });

  it("refuse by tokens first, and until the slowest of them holds enough", () => {
    const tenant = { tokens: spent(600), requests: NO_BUCKET };
    const key = { tokens: NO_BUCKET, requests: spent(6) };
    const need = { ...NO_AMOUNTS, bucketTokens: 10, requests: 1 };
    expect(shortRate({ tenant, key }, need)).toBe("tokens");
    expect(shortRate({ tenant, key }, { ...need, bucketTokens: 0 })).toBe("requests");
    expect(retryAfterMs({ tenant, key }, need)).toBe(10_000);
  });
});

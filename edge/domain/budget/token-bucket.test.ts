import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { adjustBucket, bucketLevel, bucketRetryAfterMs, fullBucket, msUntil, touchBucket } from "./token-bucket.ts";

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
    expect(bucketRetryAfterMs(empty, 30)).toBe(3_000);
    expect(bucketRetryAfterMs(empty, 9_999)).toBe(60_000);
    expect(bucketRetryAfterMs(adjustBucket(empty, 599.99), 600)).toBe(1);
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

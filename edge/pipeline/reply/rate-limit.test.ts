/** The budget headers, for every level and wait that is possible (docs/rules/headers.md#budget-headers). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import { NO_AMOUNTS } from "../../domain/budget/amounts.ts";
import { adjustBucket, fullBucket, NO_BUCKET, retryAfterMs, tightestLevel } from "../../domain/budget/token-bucket.ts";
import { rateLimitHeaders, refusalError } from "./rate-limit.ts";

const WHOLE = /^\d+$/;
const amount = fc.oneof(fc.nat(1_000), fc.maxSafeNat(), fc.constantFrom(0, 1, Number.MAX_SAFE_INTEGER));

describe("the headers of a tenant's tokens per minute", () => {
  it("are numbers that clients can read, up to the largest amounts", () => {
    fc.assert(
      fc.property(amount, fc.double({ noNaN: true }), amount, (cap, moved, need) => {
        const bucket = adjustBucket(fullBucket(cap, 0), moved);
        const buckets = { tokens: bucket, requests: NO_BUCKET };
        const headers = rateLimitHeaders(tightestLevel([buckets]));
        if (cap === 0) {
          expect(headers).toEqual({});
          return;
        }
        expect(headers["x-ratelimit-limit-tokens"]).toMatch(WHOLE);
        expect(headers["x-ratelimit-remaining-tokens"]).toMatch(WHOLE);
        expect(headers["x-ratelimit-reset-tokens"]).toMatch(/^\d{1,3}(\.\d{1,3})?s$/);
        const needed = { ...NO_AMOUNTS, bucketTokens: need };
        const waitMs = retryAfterMs({ tenant: buckets, key: null }, needed);
        const refusal = { code: "token_budget_exceeded", retryAfterMs: waitMs, level: null } as const;
        const error = refusalError(refusal, { limits: limitsWith({ tokensPerMinute: cap }), need: needed });
        expect(error.code).toBe(need > cap ? "request_larger_than_quota" : "token_budget_exceeded");
        const refused = error.headers;
        if (need > cap) {
          expect({ refused, message: error.message }).toEqual({
            refused: {},
            message: `request needs ${need} tokens, and tokens_per_minute of the tenant is ${cap}: send less, or lower max_tokens`,
          });
          return;
        }
        expect(refused["retry-after-ms"]).toMatch(WHOLE);
        expect(Number(refused["retry-after-ms"])).toBeGreaterThanOrEqual(1);
        expect(refused["retry-after"]).toBe(String(Math.ceil(waitMs / 1_000)));
      }),
    );
  });
});

/** What one loan tells its requests of their tenant's bucket, by example. */
import { describe, expect, it } from "vitest";
import { limitsWith } from "../budget/testing/world.ts";
import { Loan } from "./loan.ts";

const need = (tokens: number) => ({ bucketTokens: tokens, termTokens: tokens, nanoUsd: 0 });
const LEVEL = { limitTokens: 60_000, remainingTokens: 50_000, resetMs: 10_000 };

function loan(): Loan {
  const shape = {
    tenant: { id: "t", name: "Acme", weight: 100, maxInFlight: null },
    group: { name: "default", weight: 100 },
    model: { name: "m", admissionWeight: 100, maxInFlight: null },
    revs: [],
    limits: limitsWith({ tokensPerMinute: 60_000 }),
  };
  const made = new Loan(1, shape, 2, need(10));
  made.lent({ shape: 1, slots: 2, amounts: need(100), level: LEVEL }, 0);
  return made;
}

describe("the level that a request on a lent slot is told", () => {
  it("is the bucket's with what the loan still has, after its own reserve", () => {
    expect(loan().take({ need: need(10) }, 0)?.level).toMatchObject({ limitTokens: 60_000, remainingTokens: 50_090 });
  });

  it("stays when a wish got nothing: slots and tokens of before are there still", () => {
    const made = loan();
    made.lent({ shape: 1, slots: 0, amounts: null, level: null }, 0);
    expect(made.take({ need: need(10) }, 0)?.level).toMatchObject({ limitTokens: 60_000, remainingTokens: 50_090 });
  });
});

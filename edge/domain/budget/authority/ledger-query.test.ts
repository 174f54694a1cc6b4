import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AMOUNT_MAX, isAmount } from "../../../../shared/money/amount.ts";
import { anyNumber } from "../../../../test/harness/any-number.ts";
import { type BudgetOwner, endUsersOf } from "../limits.ts";
import { ledgerQuery, readLedgerAnswer } from "./ledger-query.ts";

const ID = "0f9f2c8e-6a1d-4b53-9f0c-0d2a5e6b7c81";
const NOW_MS = Date.UTC(2026, 10, 22);

describe("the ledger query", () => {
  it("covers any instant up to now, and no period that has not started", () => {
    expect(ledgerQuery("db", "tenant", ID, null, NOW_MS)).toContain(
      "fromUnixTimestamp64Milli(toInt64(0), 'UTC') AS since",
    );
    expect(ledgerQuery("db", "tenant", ID, -1e15, NOW_MS)).toContain("toInt64(0), 'UTC') AS since");
    expect(ledgerQuery("db", "tenant", ID, NOW_MS, NOW_MS)).not.toBeNull();
    // Days of the analytics store end in 2149, and start over in 1970.
    expect(ledgerQuery("db", "tenant", ID, Date.UTC(2150, 0), NOW_MS)).toBeNull();
  });

  it("is made for valid ids only", () => {
    expect(ledgerQuery("db", "key", "' OR 1", null, NOW_MS)).toBeNull();
  });

  it("is made for an end user of any name, never for the object of all of them", () => {
    const users = endUsersOf(ID);
    const named = `${ID}/${users.slice(ID.length + 1)}`;
    const isMade = (whose: BudgetOwner, id: string) => ledgerQuery("db", whose, id, null, NOW_MS) !== null;
    expect({ object: isMade("tenant", users), user: isMade("key", named), areTwo: users !== named }).toEqual({
      object: false,
      user: true,
      areTwo: true,
    });
  });
});

describe("the answer of the ledger", () => {
  it("is read as amounts, whatever the sums are, or as unusable", () => {
    const text = fc.oneof(anyNumber.map(String), fc.constantFrom("inf", "-inf", "nan", "", "\\N"));
    fc.assert(
      fc.property(text, text, (tokens, cost) => {
        const sum = readLedgerAnswer(`${tokens}\t${cost}\n`);
        if (sum !== null) expect([sum.tokens, sum.nanoUsd].every(isAmount)).toBe(true);
      }),
    );
  });

  it.each([
    ["33\t0.231\n", { tokens: 33, nanoUsd: 231_000_000 }],
    ["0\t0\n", { tokens: 0, nanoUsd: 0 }],
    ["-3\t-0.5\n", { tokens: 0, nanoUsd: 0 }],
    ["1.2e20\tinf\n", { tokens: AMOUNT_MAX, nanoUsd: AMOUNT_MAX }],
    ["nan\t1\n", null],
    ["Code: 60\n", null],
    ["", null],
  ])("%j is %o", (text, sum) => expect(readLedgerAnswer(text)).toEqual(sum));
});

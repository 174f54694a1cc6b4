/**
 * Rows on the disk of a budget object that are damaged, or that an earlier version wrote: the object starts, decides by amounts,
 * and what cannot be read counts as spent until it refills or the ledger has been asked.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AMOUNT_MAX } from "../../../shared/amount.ts";
import { anyNumber } from "../../../test/harness/any-number.ts";
import { message, PLAIN, Played } from "../../../test/harness/budget-messages.ts";
import { isNothing, NOTHING } from "./amounts.ts";
import { readStored, type StoredRows } from "./read-stored.ts";
import { TenantBudgetCore } from "./tenant-budget.ts";
import { monthOf } from "./testing/world.ts";

describe("a disk of a budget object", () => {
  const text = fc.oneof(fc.json(), fc.string(), fc.constant(""), fc.constant('{"bucket":{"capTokens":null}}'));
  /** Rows of an object that has done something, and what is left of them. */
  const played = fc.array(message, { maxLength: 15 }).map((messages) => {
    const object = new Played();
    for (const each of messages) object.play(each);
    object.restart();
    return { rows: object.disk.rows, nowMs: object.nowMs };
  });

  /** Every number of a row may be another, none or null. */
  function altered(value: unknown, numbers: readonly (number | null)[], at = { place: 0 }): unknown {
    if (typeof value === "number" || (typeof value === "string" && /^\d+$/.test(value))) {
      at.place += 1;
      const other = numbers[at.place % numbers.length];
      return at.place % 3 === 0 ? other : value;
    }
    if (Array.isArray(value)) return value.map((each) => altered(each, numbers, at));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, altered(each, numbers, at)]));
  }

  function starts(rows: StoredRows, nowMs: number): void {
    const { state } = readStored(rows);
    const object = new Played();
    object.nowMs = nowMs;
    object.core = new TenantBudgetCore(state, monthOf, nowMs);
    object.check(PLAIN);
    // What cannot be read counts as spent until the ledger has been asked: then it is let go.
    const report = { cell: "z", epoch: 9, base: 0, through: 0, batches: [], alertsSeen: [] };
    object.core.lease({ report, limits: PLAIN, purse: null, n: 1, need: NOTHING, want: NOTHING }, nowMs);
    for (let turn = 0; turn < 4; turn += 1) object.wait(16 * 60_000);
    expect(isNothing(object.core.read("tenant", PLAIN, object.nowMs).reserved)).toBe(true);
    expect(object.core.bucket(PLAIN, object.nowMs).levelTokens).toBe(100);
    object.restart();
    object.check(PLAIN);
  }

  it("may be damaged anywhere: the object starts, and in the end lets go of what cannot be read", () => {
    const number = fc.oneof(fc.constant(null), anyNumber);
    fc.assert(
      fc.property(
        played,
        fc.array(number, { minLength: 1, maxLength: 5 }),
        text,
        fc.nat(3),
        ({ rows, nowMs }, numbers, junk, which) => {
          const row = (value: string, at: number): string =>
            at === which ? junk : (JSON.stringify(altered(JSON.parse(value), numbers)) ?? junk);
          starts(
            {
              tenant: rows.tenant === null ? null : row(rows.tenant, 0),
              charged: rows.charged === null ? null : row(rows.charged, 0),
              keys: rows.keys.map((key) => ({ ...key, value: row(key.value, 1) })),
              epochs: rows.epochs.map((epoch) => ({ ...epoch, value: row(epoch.value, 2) })),
              grants: rows.grants.map((grant) => ({ ...grant, value: row(grant.value, 3) })),
            },
            nowMs,
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it("keeps what an earlier version stored as numbers, and reads NaN, which JSON has as null, as spent", () => {
    const holding = {
      purse: null,
      granted: { bucketTokens: 70, termTokens: 70, nanoUsd: 70 },
      adopted: NOTHING,
      released: { bucketTokens: 20, termTokens: 20, nanoUsd: 20 },
      newestN: 3,
      ended: true,
    };
    const epoch = (value: unknown) => ({ cell: "a", epoch: 1_700_000_000_000, value: JSON.stringify(value) });
    const rows = (each: unknown): StoredRows => ({
      tenant: null,
      charged: null,
      keys: [],
      epochs: [epoch({ applied: 2, lostAtMs: null, holdings: [each] })],
      grants: [],
    });
    const reserved = (each: unknown) =>
      new TenantBudgetCore(readStored(rows(each)).state, monthOf, 0).read("tenant", PLAIN, 0).reserved.termTokens;
    expect(reserved(holding)).toBe(50);
    const poisoned = { ...holding, granted: { ...holding.granted, nanoUsd: Number.NaN } };
    expect(reserved(poisoned)).toBe(AMOUNT_MAX);
    expect([readStored(rows(holding)).damaged, readStored(rows(poisoned)).damaged]).toEqual([0, 1]);
  });
});

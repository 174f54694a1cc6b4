/**
 * Rows on the disk of a budget object that are damaged, or that an earlier version wrote: the object starts, decides by amounts,
 * and what cannot be read counts as spent until it refills or the ledger has been asked.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AMOUNT_MAX } from "../../../../shared/money/amount.ts";
import { anyNumber } from "../../../../test/harness/any-number.ts";
import { message, PLAIN, Played } from "../../../../test/harness/budget-messages.ts";
import { BudgetSimulation, limitsWith, thirtyDayMonthOf } from "../../../../test/harness/edge/budget/simulation.ts";
import { isNothing, NO_AMOUNTS } from "../amounts.ts";
import { readStored, type StoredRows } from "./stored.ts";
import { TenantBudgetAuthority } from "./tenant-budget-authority.ts";

describe("a disk of a budget object", () => {
  const text = fc.oneof(fc.json(), fc.string(), fc.constant(""), fc.constant('{"bucket":{"capTokens":null}}'));
  /** Rows of an object that has done something, and what is left of them. */
  const played = fc.array(message, { maxLength: 15 }).map((messages) => {
    const object = new Played();
    for (const each of messages) object.play(each);
    object.restart();
    return { rows: object.disk.rows, nowMs: object.nowMs };
  });

  /** Every number of a row may be replaced by another number, by an invalid one, or by null. */
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
    object.core = new TenantBudgetAuthority(state, thirtyDayMonthOf, nowMs);
    object.check(PLAIN);
    // What cannot be read counts as spent until the ledger has been asked; then it no longer counts.
    const report = { cell: "z", life: 9, sequence: 2, leases: [], open: [1], alertsSeen: [] };
    object.core.lease({ report, limits: PLAIN, pool: null, n: 1, need: NO_AMOUNTS, want: NO_AMOUNTS }, nowMs);
    for (let turn = 0; turn < 4; turn += 1) object.wait(16 * 60_000);
    expect(isNothing(object.core.read("tenant", PLAIN, object.nowMs).reserved)).toBe(true);
    expect(object.core.buckets(PLAIN, object.nowMs).tenant.tokens.levelTokens).toBe(100);
    object.restart();
    object.check(PLAIN);
  }

  it("can be damaged anywhere: the object starts, and unreadable parts stop counting in time", () => {
    const number = fc.oneof(fc.constant(null), anyNumber);
    fc.assert(
      fc.property(
        played,
        fc.array(number, { minLength: 1, maxLength: 5 }),
        text,
        fc.nat(2),
        ({ rows, nowMs }, numbers, junk, which) => {
          const row = (value: string, at: number): string =>
            at === which ? junk : (JSON.stringify(altered(JSON.parse(value), numbers)) ?? junk);
          starts(
            {
              tenant: rows.tenant === null ? null : row(rows.tenant, 0),
              charged: rows.charged === null ? null : row(rows.charged, 0),
              keys: rows.keys.map((key) => row(key, 1)),
              grants: rows.grants.map((grants) => row(grants, 2)),
            },
            nowMs,
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it("keeps the bucket, counters, leases and grants that the first release stored", () => {
    const { tenant, key } = limitsWith({ tokensPerMinute: 100, tenantTokens: 1_000, rev: AMOUNT_MAX });
    const account = { tag: "l:0", usedTokens: 70, usedNanoUsd: 60, raised: [] };
    const bucket = { capTokens: 100, levelTokens: 40, atMs: 0 };
    const lease = (n: number) => ({
      n,
      pool: null,
      granted: { bucketTokens: 10, termTokens: 10, nanoUsd: 0 },
      released: { bucketTokens: 0, termTokens: 0, nanoUsd: 0 },
      moved: { bucketTokens: 0, termTokens: 0, nanoUsd: 0 },
      used: { '["","l:0","l:0"]': { tokens: 3, nanoUsd: 0 } },
      ended: false,
      untilMs: 20_000,
      answered: { ttlMs: 20_000, ample: true },
      lostAtMs: null,
      settled: false,
    });
    const life = { cell: "a", life: 1, seenN: 4, awaited: [], heardN: 4, leases: [lease(3)] };
    const { requestsPerMinute: _none, ...limits } = tenant;
    const { tokensPerMinute: _no, requestsPerMinute: _nor, ...keyLimits } = key;
    const rows: StoredRows = {
      tenant: JSON.stringify({ checkpoint: 7, bucket, uncoveredTokens: 0, limits, account, alerts: [], lives: [life] }),
      charged: JSON.stringify([["r1", { tokens: 3, nanoUsd: 0, ended: true, returned: true, holder: null }]]),
      keys: [JSON.stringify({ limits: keyLimits, account })],
      grants: [
        JSON.stringify({
          pool: null,
          checkpoint: 7,
          capTokens: 100,
          leases: [{ cell: "a", life: 1, lease: lease(5) }],
        }),
      ],
    };
    const { state, damaged } = readStored(rows);
    expect({ damaged, charged: state.charged.length }).toEqual({ damaged: 0, charged: 1 });
    const core = new TenantBudgetAuthority(state, thirtyDayMonthOf, 0);
    const reserved = { ...NO_AMOUNTS, bucketTokens: 20, termTokens: 20 };
    expect(core.read("tenant", { tenant, key }, 0)).toMatchObject({ account, reserved });
    expect(core.read("key", { tenant, key }, 0)).toMatchObject({ account, reserved: NO_AMOUNTS });
    expect(core.buckets({ tenant, key }, 0).tenant.tokens.levelTokens).toBe(30);
  });

  it.each([
    ["a lease of the tenant", {}, "tenant"],
    ["the lease of a key", { keyTokens: 1_000 }, "tenant"],
    ["a grant since the checkpoint", {}, "grants"],
    ["a grant to a key since the checkpoint", { keyTokens: 1_000 }, "grants"],
  ] as const)("that lost a number of %s has everything out, until the ledger has been asked", (_name, caps, where) => {
    const world = new BudgetSimulation(1);
    const limits = limitsWith({ tenantTokens: 1_000, ...caps });
    world.reserve(world.cell(0), limits, { bucketTokens: 5, termTokens: 5, nanoUsd: 5 });
    world.process(world.nextCall());
    if (where === "tenant") world.checkpoint();
    const { rows } = world.disk;
    const poisoned = (value: string) =>
      value.replace(/"granted":\{"bucketTokens":0,/, '"granted":{"bucketTokens":null,');
    const { state, damaged } = readStored(
      where === "tenant"
        ? { ...rows, tenant: poisoned(rows.tenant ?? "") }
        : { ...rows, grants: rows.grants.map(poisoned) },
    );
    expect(damaged).toBe(1);
    const core = new TenantBudgetAuthority(state, thirtyDayMonthOf, world.nowMs);
    for (const whose of ["tenant", "key"] as const)
      expect(core.read(whose, limits, world.nowMs).reserved.termTokens).toBe(AMOUNT_MAX);
    core.tick(world.nowMs + 60_000);
    expect(core.countersAwaitingLedger(world.nowMs + 120_000).map(({ whose }) => whose)).toContain("tenant");
    core.ledgerSettled();
    expect(core.read("tenant", limits, world.nowMs).reserved).toEqual(NO_AMOUNTS);
  });
});

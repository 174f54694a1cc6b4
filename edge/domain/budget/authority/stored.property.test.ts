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
  /** Rows of an object that has done something, and what remains of them. */
  const played = fc.array(message, { maxLength: 15 }).map((messages) => {
    const object = new Played();
    for (const each of messages) object.play(each);
    object.restart();
    return { rows: object.disk.rows, nowMs: object.nowMs };
  });

  /** `place` counts the values of a row, modulo their number. `replacement` undefined: the value is missing. */
  const damage = fc.record({
    place: fc.nat(),
    replacement: fc.oneof(anyNumber, fc.jsonValue({ maxDepth: 1 }), fc.constant(undefined)),
  });
  type Damage = typeof damage extends fc.Arbitrary<infer T> ? T : never;

  /** Every value within another one, with its container and its name there. */
  function* valuesIn(holder: object): Generator<readonly [object, string]> {
    for (const [name, value] of Object.entries(holder)) {
      yield [holder, name];
      if (typeof value === "object" && value !== null) yield* valuesIn(value);
    }
  }

  /** The row with these damages: numbers, texts, flags, lists, records, or the whole row. */
  function damagedRow(row: string, damages: readonly Damage[]): string {
    const held: { row: unknown } = { row: JSON.parse(row) };
    for (const { place, replacement } of damages) {
      const values = [...valuesIn(held)];
      const [holder, name] = values[place % values.length] ?? [held, "row"];
      Object.assign(holder, { [name]: replacement });
    }
    return JSON.stringify(held.row) ?? "";
  }

  function expectStarts(rows: StoredRows, nowMs: number): void {
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
    const rowKinds = fc.constantFrom("tenant", "charged", "keys", "grants");
    const damages = fc.array(damage, { maxLength: 3 });
    fc.assert(
      fc.property(
        played,
        fc.record({ tenant: damages, charged: damages, keys: damages, grants: damages }),
        fc.option(fc.tuple(rowKinds, text)),
        ({ rows, nowMs }, damaged, junkRow) => {
          const [junkKind, junk] = junkRow ?? [null, ""];
          const rowOf = (kind: keyof typeof damaged, row: string): string =>
            kind === junkKind ? junk : damagedRow(row, damaged[kind]);
          expectStarts(
            {
              tenant: rows.tenant === null ? null : rowOf("tenant", rows.tenant),
              charged: rows.charged === null ? null : rowOf("charged", rows.charged),
              keys: rows.keys.map((row) => rowOf("keys", row)),
              grants: rows.grants.map((row) => rowOf("grants", row)),
            },
            nowMs,
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it("that has the largest number as its checkpoint is stored and read again", () => {
    const object = new Played();
    object.restart();
    const tenant = object.disk.rows.tenant?.replace(/"checkpoint":\d+/, `"checkpoint":${AMOUNT_MAX}`) ?? "";
    expectStarts({ ...object.disk.rows, tenant }, object.nowMs);
  });

  it.each([5, -5])("that says a bucket without a limit holds %i tokens sends Cells an empty one", (levelTokens) => {
    const object = new Played();
    object.restart();
    const tenant = object.disk.rows.tenant?.replaceAll('"levelTokens":0', `"levelTokens":${levelTokens}`) ?? null;
    const { state } = readStored({ ...object.disk.rows, tenant });
    object.core = new TenantBudgetAuthority(state, thirtyDayMonthOf, object.nowMs);
    object.check(PLAIN);
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
    // The first release had one limit per minute: the tenant's tokens.
    const { requestsPerMinute: _tenantRequests, ...limits } = tenant;
    const { tokensPerMinute: _keyTokens, requestsPerMinute: _keyRequests, ...keyLimits } = key;
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
    const withUnreadableNumber = (value: string) =>
      value.replace(/"granted":\{"bucketTokens":0,/, '"granted":{"bucketTokens":null,');
    const { state, damaged } = readStored(
      where === "tenant"
        ? { ...rows, tenant: withUnreadableNumber(rows.tenant ?? "") }
        : { ...rows, grants: rows.grants.map(withUnreadableNumber) },
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

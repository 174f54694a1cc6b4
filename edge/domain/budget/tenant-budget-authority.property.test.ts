/**
 * Several Cells against one authority, with messages lost, repeated and delayed, crashes on both sides, requests that lose
 * contact and come back, clocks that are set, and amounts up to the largest: the laws at every moment, and the returns once
 * everything is delivered.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AMOUNT_MAX } from "../../../shared/money/amount.ts";
import { usageOf } from "../../../test/harness/edge/budget/real-usage.ts";
import { BudgetSimulation, type Caps, limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import {
  applyStep,
  CLOCK_STEPS,
  drainBudgets,
  passedCap,
  REQUEST_STEPS,
  type SimulationOptions,
} from "../../../test/harness/edge/budget/simulation-steps.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { clamped, covers, isNothing } from "./amounts.ts";
import { type BudgetLimits, needsLease } from "./limits.ts";
import type { Buckets } from "./token-bucket.ts";

const TPM = 300;
const ORDERLY: SimulationOptions = { overuse: false, scale: 1 };

const caps = fc.record({
  tokensPerMinute: fc.constantFrom(0, TPM),
  requestsPerMinute: fc.constantFrom(0, 0, 4, 40),
  keyTokensPerMinute: fc.constantFrom(0, 0, 200),
  keyRequestsPerMinute: fc.constantFrom(0, 0, 3, 30),
  tenantTokens: fc.constantFrom(null, 0, 400, 2_000, 20_000),
  tenantNanoUsd: fc.constantFrom(null, 3_000),
  keyTokens: fc.constantFrom(null, 0, 300),
  keyNanoUsd: fc.constantFrom(null, 1_500),
});
const cells = fc.integer({ min: 1, max: 4 });
const small = fc.nat({ max: 1_000 });

/** Steps of these kinds, each as often as its weight says. */
function doing<T extends string>(...kinds: readonly (readonly [weight: number, what: T])[]) {
  return fc.oneof(
    ...kinds.map(([weight, what]) => ({ weight, arbitrary: fc.record({ do: fc.constant(what), a: small, b: small }) })),
  );
}

function sequenceOf<T>(step: fc.Arbitrary<T>) {
  return fc.array(step, { maxLength: 120, size: "max" });
}

const steps = sequenceOf(doing(...REQUEST_STEPS, ...CLOCK_STEPS));

function holds(world: BudgetSimulation, limits: BudgetLimits): void {
  expect(passedCap(world, limits)).toBeNull();
  if (!needsLease(limits)) return;
  // What live requests hold is out on lease.
  const { reserved } = world.core.read("tenant", limits, world.coreMs);
  const { tokens, nanoUsd } = usageOf(world.drawn);
  expect(covers(reserved, { bucketTokens: 0, termTokens: tokens, nanoUsd })).toBe(true);
}

/** Every counter has the value of the world, nothing is reserved, and the cells have nothing left to report. */
function restsIn(world: BudgetSimulation, limits: BudgetLimits): void {
  for (const whose of ["tenant", "key"] as const) {
    const { account, reserved } = world.core.read(whose, limits, world.coreMs);
    expect(isNothing(reserved)).toBe(true);
    const { tokens, nanoUsd } = world.truth.settledSum;
    expect({ usedTokens: account.usedTokens, usedNanoUsd: account.usedNanoUsd }).toEqual({
      usedTokens: tokens,
      usedNanoUsd: nanoUsd,
    });
  }
  world.checkpoint();
  // One report hands on the alerts that the reads above may have raised, the next acknowledges them.
  world.calm(25_000);
  for (const cell of world.cells) expect(cell.budget.idle).toBe(true);
  for (const cell of world.cells) expect(cell.budget.takeFaults()).toEqual([]);
  expect(world.disk.load().damaged).toBe(0);
}

/** What dead Cells held no longer counts, and no counter has more than the ledger. */
function restsInTheLedger(world: BudgetSimulation, limits: BudgetLimits): void {
  drainBudgets(world);
  for (const cell of world.cells) {
    world.crashCell(cell, true);
    world.reserve(cell, limits, { bucketTokens: 1, termTokens: 1, nanoUsd: 1 });
  }
  drainBudgets(world);
  world.calm(31_000);
  world.askLedger(limits);
  for (const whose of ["tenant", "key"] as const) {
    const { account, reserved } = world.core.read(whose, limits, world.coreMs);
    expect(isNothing(reserved)).toBe(true);
    expect(account.usedTokens).toBeLessThanOrEqual(world.truth.ledgerSum.tokens);
    expect(account.usedNanoUsd).toBeLessThanOrEqual(world.truth.ledgerSum.nanoUsd);
  }
}

describe("leases of several cells over an unreliable network", () => {
  it("never spend more than bucket and budgets allow, and lose nothing, whatever clocks say", () => {
    fc.assert(
      fc.property(caps, cells, steps, fc.boolean(), (given, count, sequence, overuse) => {
        const world = new BudgetSimulation(count);
        const limits = limitsWith(given);
        for (const each of sequence) {
          applyStep(world, limits, each, { overuse, scale: 1 });
          holds(world, limits);
        }
        drainBudgets(world);
        restsIn(world, limits);
      }),
      { numRuns: propertyRuns(800) },
    );
  });

  it("are never taken for lost while every message arrives", () => {
    const busy = fc.array(doing([8, "reserve"], [6, "settle"], [4, "wait"]), {
      minLength: 100,
      maxLength: 200,
      size: "max",
    });
    fc.assert(
      fc.property(cells, busy, (count, sequence) => {
        const world = new BudgetSimulation(count);
        const limits = limitsWith({ tenantTokens: 1e9 });
        for (const each of sequence) {
          applyStep(world, limits, each, ORDERLY);
          world.calm(250);
          world.checkpoint();
          const lives = world.disk.load().state.tenant?.lives ?? [];
          expect(lives.flatMap(({ leases }) => leases).filter(({ lostAtMs }) => lostAtMs !== null)).toEqual([]);
        }
      }),
      { numRuns: propertyRuns(80) },
    );
  });

  it("give back to every bucket, to the token and the request, what was not used", () => {
    const wide = { tokensPerMinute: 1e6, requestsPerMinute: 1e5, keyTokensPerMinute: 2e6, keyRequestsPerMinute: 2e5 };
    const requests = sequenceOf(doing(...REQUEST_STEPS));
    fc.assert(
      fc.property(cells, requests, (count, sequence) => {
        const world = new BudgetSimulation(count);
        // Nothing refills a bucket whose clock stands still.
        const startMs = world.nowMs;
        Object.defineProperty(world, "coreMs", { get: () => startMs });
        const limits = limitsWith(wide);
        for (const each of sequence) applyStep(world, limits, each, ORDERLY);
        drainBudgets(world);
        const { tenant, key } = world.core.buckets(limits, startMs);
        const { settledSum, admitted } = world.truth;
        const left = (of: Buckets | null) => [of?.tokens.levelTokens, of?.requests.levelTokens];
        expect({ tenant: left(tenant), key: left(key) }).toEqual({
          tenant: [1e6 - settledSum.tokens, 1e5 - admitted],
          key: [2e6 - settledSum.tokens, 2e5 - admitted],
        });
      }),
      { numRuns: propertyRuns(800) },
    );
  });

  it("do the same with amounts so large that only a few, or one, can be counted", () => {
    const scale = fc.constantFrom(2 ** 44, 2 ** 47, 2 ** 50, 2 ** 52, AMOUNT_MAX);
    fc.assert(
      fc.property(caps, cells, steps, fc.boolean(), scale, (given, count, sequence, overuse, large) => {
        const world = new BudgetSimulation(count);
        const cap = (of: number | null) => (of === null ? null : clamped(of * large));
        const limits = limitsWith({
          ...given,
          tenantTokens: cap(given.tenantTokens),
          tenantNanoUsd: cap(given.tenantNanoUsd),
          keyTokens: cap(given.keyTokens),
          keyNanoUsd: cap(given.keyNanoUsd),
        });
        for (const each of sequence) {
          applyStep(world, limits, each, { overuse, scale: large });
          holds(world, limits);
        }
        drainBudgets(world);
        restsIn(world, limits);
      }),
      { numRuns: propertyRuns(800) },
    );
  });

  it("count in the authority's month whatever month the cells use", () => {
    const clocks = sequenceOf(doing(...REQUEST_STEPS, [3, "setCellClock"]));
    fc.assert(
      fc.property(caps, cells, clocks, (given, count, sequence) => {
        const world = new BudgetSimulation(count);
        world.nowMs += 15 * 86_400_000;
        const { tenant, key } = limitsWith(given);
        const monthly = { period: "monthly" } as const;
        const limits = {
          tenant: { ...tenant, term: { ...tenant.term, ...monthly } },
          key: { ...key, term: { ...key.term, ...monthly } },
        };
        for (const each of sequence) applyStep(world, limits, each, ORDERLY);
        drainBudgets(world);
        restsIn(world, limits);
      }),
      { numRuns: propertyRuns(400) },
    );
  });

  it("bind by the newest limits, and lose nothing while limits change", () => {
    const change = fc.array(fc.tuple(caps, fc.array(doing(...REQUEST_STEPS), { maxLength: 30 })), {
      minLength: 2,
      maxLength: 6,
    });
    fc.assert(
      fc.property(change, cells, (changes, count) => {
        const world = new BudgetSimulation(count);
        let limits = limitsWith({});
        for (const [at, [given, sequence]] of changes.entries()) {
          limits = limitsWith({ ...given, rev: at + 1 } satisfies Caps);
          for (const each of sequence) applyStep(world, limits, each, ORDERLY);
          const { tenant, key } = world.core.buckets(limits, world.coreMs);
          const caps = (of: Buckets | null) => [of?.tokens.capTokens ?? 0, of?.requests.capTokens ?? 0];
          expect({ tenant: caps(tenant), key: caps(key) }).toEqual({
            tenant: [given.tokensPerMinute, given.requestsPerMinute],
            key: [given.keyTokensPerMinute, given.keyRequestsPerMinute],
          });
          for (const { levelTokens, capTokens } of [tenant, key ?? tenant].flatMap((of) => Object.values(of)))
            expect(Math.abs(levelTokens)).toBeLessThanOrEqual(capTokens);
        }
        drainBudgets(world);
        restsIn(world, limits);
      }),
      { numRuns: propertyRuns(400) },
    );
  });

  it("count a dead cell's holdings as spent until the ledger answers, adopted requests once", () => {
    const withCrashes = sequenceOf(doing(...REQUEST_STEPS, [3, "crashCell"], [4, "loseSight"], [4, "comeBack"]));
    fc.assert(
      fc.property(caps, cells, withCrashes, (given, count, sequence) => {
        const world = new BudgetSimulation(count);
        const limits = limitsWith(given);
        for (const each of sequence) {
          if (each.do === "crashCell") world.crashCell(world.cell(each.a), each.b % 2 === 0);
          else applyStep(world, limits, { ...each, do: each.do }, ORDERLY);
          holds(world, limits);
        }
        restsInTheLedger(world, limits);
      }),
      { numRuns: propertyRuns(800) },
    );
  });
});

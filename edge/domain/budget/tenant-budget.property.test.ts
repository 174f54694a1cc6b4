/**
 * Several cells against one authority, with messages lost, repeated and delayed, and crashes on both sides: what must
 * hold at every moment, and what must have come back once all is calm. Then the same with cells that lend to isolates:
 * whatever was leased is drawn, lent, held, given back or awaits the ledger - never two of them and never none.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isNothing } from "./amounts.ts";
import { type BudgetLimits, needsLease } from "./limits.ts";
import { LendingWorld } from "./testing/lending-world.ts";
import { limitsWith, World } from "./testing/world.ts";

const small = fc.nat({ max: 1_000 });
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("reserve" as const), a: small, b: small }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("settle" as const), a: small, b: small }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant("deliver" as const), a: small, b: small }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("repeat" as const), a: small, b: small }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("lose" as const), a: small, b: small }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("giveUp" as const), a: small, b: small }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const), a: small, b: small }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("checkpoint" as const), a: small, b: small }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crashAuthority" as const), a: small, b: small }) },
);
const crash = fc.record({ do: fc.constant("crashCell" as const), a: small, b: small });
type Step =
  | (typeof step extends fc.Arbitrary<infer T> ? T : never)
  | (typeof crash extends fc.Arbitrary<infer T> ? T : never);

function play(world: World, limits: BudgetLimits, { do: what, a, b }: Step, overuse: boolean): void {
  const cell = world.cell(a);
  const call = world.calls[b % Math.max(1, world.calls.length)];
  if (what === "reserve") {
    const tokens = 1 + (b % 120);
    world.reserve(cell, limits, { bucketTokens: Math.min(tokens, 90), termTokens: tokens, nanoUsd: tokens * 3 });
  } else if (what === "settle") {
    const live = [...cell.live.values()][b % Math.max(1, cell.live.size)];
    if (live === undefined) return;
    const factor = overuse ? (b % 5) / 2 : (b % 3) / 2;
    const tokens = Math.floor(live.need.bucketTokens * factor);
    world.settle(cell, live.id, { tokens, nanoUsd: tokens * 3 });
  } else if (what === "wait") world.advance(a * 4);
  else if (what === "checkpoint") world.checkpoint();
  else if (what === "crashAuthority") world.crashAuthority();
  else if (what === "crashCell") world.crashCell(cell, b % 2 === 0);
  else if (call !== undefined) {
    if (what === "deliver") world.deliver(call);
    else if (what === "repeat") world.process(call);
    else world.fail(call);
    if (what === "deliver" || what === "lose") world.calls = world.calls.filter((each) => each !== call);
  }
}

const TPM = 300;
const START_MS = 1_000_000;

function holds(world: World, limits: BudgetLimits): void {
  const drawn = world.drawn;
  const refilled = TPM + ((world.nowMs - START_MS) * TPM) / 60_000;
  if (limits.tenant.tokensPerMinute > 0) {
    expect(drawn.bucketTokens + world.settledRate).toBeLessThanOrEqual(refilled + 1e-6);
  }
  for (const term of [limits.tenant.term, limits.key.term]) {
    const tokens = drawn.termTokens + world.settled.tokens;
    const nanoUsd = drawn.nanoUsd + world.settled.nanoUsd;
    if (term.tokens !== null) {
      expect(tokens).toBeLessThan(Math.max(term.tokens, 1) + world.largest.termTokens + world.overuse.tokens);
    }
    if (term.nanoUsd !== null) {
      expect(nanoUsd).toBeLessThan(Math.max(term.nanoUsd, 1) + world.largest.nanoUsd + world.overuse.nanoUsd);
    }
  }
}

function drain(world: World): void {
  world.calm(30_000);
  for (const cell of world.cells) {
    for (const { id, need } of Array.from(cell.live.values()))
      world.settle(cell, id, { tokens: need.termTokens, nanoUsd: need.nanoUsd });
    expect(cell.waiting.size).toBe(0);
  }
  world.calm(30_000);
}

const caps = fc.record({
  tokensPerMinute: fc.constantFrom(0, TPM),
  tenantTokens: fc.constantFrom(null, 0, 400, 2_000),
  tenantNanoUsd: fc.constantFrom(null, 3_000),
  keyTokens: fc.constantFrom(null, 0, 300),
  keyNanoUsd: fc.constantFrom(null, 1_500),
});
const cells = fc.integer({ min: 1, max: 4 });

describe("leases of several cells over an unreliable network", () => {
  it("never spend more than bucket and budgets allow, and lose nothing", () => {
    fc.assert(
      fc.property(
        caps,
        cells,
        fc.array(step, { maxLength: 120, size: "max" }),
        fc.boolean(),
        (given, count, steps, overuse) => {
          const world = new World(count);
          const limits = limitsWith(given);
          for (const each of steps) {
            play(world, limits, each, overuse);
            holds(world, limits);
          }
          drain(world);
          for (const whose of ["tenant", "key"] as const) {
            const { account, reserved } = world.core.read(whose, limits, world.nowMs);
            expect(isNothing(reserved)).toBe(true);
            expect(account.usedTokens).toBe(world.settled.tokens);
            expect(account.usedNanoUsd).toBe(world.settled.nanoUsd);
          }
          world.checkpoint();
          world.calm(15_000);
          for (const cell of world.cells) expect(cell.wallet.idle).toBe(true);
        },
      ),
      { numRuns: 800 },
    );
  });

  it("count what a dead cell held as spent, until the ledger says otherwise", () => {
    const steps = fc.array(fc.oneof({ weight: 30, arbitrary: step }, { weight: 2, arbitrary: crash }), {
      maxLength: 120,
    });
    fc.assert(
      fc.property(caps, cells, steps, (given, count, sequence) => {
        const world = new World(count);
        const limits = limitsWith(given);
        for (const each of sequence) {
          play(world, limits, each, false);
          holds(world, limits);
        }
        drain(world);
        for (const cell of world.cells) {
          world.crashCell(cell, true);
          world.reserve(cell, limits, { bucketTokens: 1, termTokens: 1, nanoUsd: 1 });
        }
        drain(world);
        world.calm(31_000);
        world.askLedger(limits);
        for (const whose of ["tenant", "key"] as const) {
          const { account, reserved } = world.core.read(whose, limits, world.nowMs);
          expect(isNothing(reserved)).toBe(true);
          expect(account.usedTokens).toBeLessThanOrEqual(world.ledger.tokens);
        }
      }),
      { numRuns: 800 },
    );
  });
});

const lending = (weight: number, what: "lend" | "take" | "takeBack" | "writeOff") => ({
  weight,
  arbitrary: fc.record({ do: fc.constant(what), a: small, b: small }),
});
const loans = fc.oneof({ weight: 6, arbitrary: step }, lending(4, "lend"), lending(4, "take"), lending(1, "takeBack"));
const losses = fc.oneof({ weight: 30, arbitrary: loans }, { weight: 1, arbitrary: crash }, lending(2, "writeOff"));
type LoanStep = typeof losses extends fc.Arbitrary<infer T> ? T : never;

const looseCaps = fc.record({
  tokensPerMinute: fc.constantFrom(0, 300),
  tenantTokens: fc.constantFrom(null, 2_000, 20_000),
  tenantNanoUsd: fc.constantFrom(null, 9_000),
  keyTokens: fc.constantFrom(null, 1_000),
  keyNanoUsd: fc.constantFrom(null, 5_000),
});

function amountsOf(tokens: number) {
  return { bucketTokens: tokens, termTokens: tokens + 1, nanoUsd: tokens * 3 };
}

function playLoans(world: LendingWorld, limits: BudgetLimits, event: LoanStep, overuse: boolean): void {
  const { do: what, a, b } = event;
  const cell = world.cell(a);
  const loan = [...world.loans.values()][b % Math.max(1, world.loans.size)];
  if (what === "lend") world.lend(cell, `${cell.name}/${cell.epoch}/${b % 2}`, limits, amountsOf(b % 9), amountsOf(1));
  else if (what === "take") void (loan !== undefined && world.take(loan, amountsOf(1 + (a % 4))));
  else if (what === "takeBack") void (loan !== undefined && world.takeBack(loan));
  else if (what === "writeOff") void (loan !== undefined && world.writeOff(loan));
  else play(world, limits, event as Step, overuse);
}

function check(world: LendingWorld, limits: BudgetLimits): void {
  holds(world, limits);
  if (!needsLease(limits)) return;
  const { reserved } = world.core.read("tenant", limits, world.nowMs);
  expect(reserved.termTokens).toBeGreaterThanOrEqual(world.drawn.termTokens);
  expect(reserved.nanoUsd).toBeGreaterThanOrEqual(world.drawn.nanoUsd);
}

describe("allowances on loan over an unreliable network", () => {
  it("never let a cap be passed, and come back to the last token", () => {
    fc.assert(
      fc.property(
        looseCaps,
        cells,
        fc.array(loans, { maxLength: 120, size: "max" }),
        fc.boolean(),
        (given, count, steps, overuse) => {
          const world = new LendingWorld(count);
          const limits = limitsWith(given);
          for (const each of steps) {
            playLoans(world, limits, each, overuse);
            check(world, limits);
          }
          for (const loan of world.loans.values()) world.takeBack(loan);
          drain(world);
          for (const whose of ["tenant", "key"] as const) {
            const { account, reserved } = world.core.read(whose, limits, world.nowMs);
            expect(isNothing(reserved)).toBe(true);
            expect(account.usedTokens).toBe(world.settled.tokens);
            expect(account.usedNanoUsd).toBe(world.settled.nanoUsd);
          }
          world.checkpoint();
          world.calm(15_000);
          for (const cell of world.cells) expect(cell.wallet.idle).toBe(true);
        },
      ),
      { numRuns: 400 },
    );
  });

  it("count as spent when they are lost, alone or with their cell, until the ledger says otherwise", () => {
    fc.assert(
      fc.property(looseCaps, cells, fc.array(losses, { maxLength: 120, size: "max" }), (given, count, steps) => {
        const world = new LendingWorld(count);
        const limits = limitsWith(given);
        for (const each of steps) {
          playLoans(world, limits, each, false);
          check(world, limits);
        }
        for (const loan of world.loans.values()) world.takeBack(loan);
        drain(world);
        for (const cell of world.cells) {
          world.crashCell(cell, true);
          world.reserve(cell, limits, { bucketTokens: 1, termTokens: 1, nanoUsd: 1 });
        }
        drain(world);
        world.calm(31_000);
        world.askLedger(limits);
        for (const whose of ["tenant", "key"] as const) {
          const { account, reserved } = world.core.read(whose, limits, world.nowMs);
          expect(isNothing(reserved)).toBe(true);
          expect(account.usedTokens).toBeLessThanOrEqual(world.ledger.tokens);
        }
      }),
      { numRuns: 400 },
    );
  });
});

/** What a wallet lends to isolates, by example: how much, when not, and what becomes of it. */
import { describe, expect, it } from "vitest";
import { NOTHING, times } from "./amounts.ts";
import { LendingWorld, type Loan } from "./testing/lending-world.ts";
import { type Caps, limitsWith } from "./testing/world.ts";

const need = (tokens: number) => ({ bucketTokens: tokens, termTokens: tokens, nanoUsd: 0 });
const CAPS = { tokensPerMinute: 100_000, tenantTokens: 1_000_000 };

/** A world of one cell that has a lease of 4 x 1000 at least, all of it in its purse. */
function world(caps: Caps = CAPS) {
  const made = new LendingWorld(1);
  const cell = made.cell(0);
  const limits = limitsWith(caps);
  const lend = (want: number, atLeast = 10) => made.lend(cell, "l", limits, need(want), need(atLeast));
  const deliver = () => {
    while (made.calls.length > 0) made.deliver(made.nextCall());
  };
  const loan = () => made.loans.get("l") as Loan;
  const facts = () => made.core.read("tenant", limits, made.nowMs);
  expect(lend(1_000)).toBeNull();
  deliver();
  return { world: made, cell, limits, lend, deliver, loan, facts };
}

describe("a wallet lends", () => {
  it("what is wanted, half of what it holds at most, and nothing when that does not cover a request", () => {
    const { lend } = world();
    expect(lend(1_000)?.amounts).toEqual(need(1_000));
    expect(lend(1_000_000)?.amounts).toEqual(need(1_500));
    expect(lend(1_000, 1_000)).toBeNull();
  });

  it("at a steady rate without ever running dry", () => {
    const { world: made, lend, deliver } = world();
    for (let at = 0; at < 200; at += 1) {
      expect(lend(1_000, 1_000)).not.toBeNull();
      made.nowMs += 250;
      deliver();
      made.advance(250);
      deliver();
    }
  });

  it("without a lease what is wanted when nothing binds, and reserves nothing", () => {
    const made = new LendingWorld(1);
    expect(made.lend(made.cell(0), "l", limitsWith({}), need(70), need(10))).toEqual({
      amounts: need(70),
      level: null,
    });
    made.cell(0).wallet.takeBack("l", made.nowMs);
    expect(made.cell(0).wallet.idle).toBe(true);
  });

  it("nothing of a bucket that is none", () => {
    expect(world({ tenantTokens: 1_000_000 }).lend(100)?.amounts).toEqual({ ...need(100), bucketTokens: 0 });
  });

  it("slots without tokens whenever the level is known", () => {
    const made = new LendingWorld(1);
    expect(made.lend(made.cell(0), "l", limitsWith(CAPS), NOTHING, NOTHING)).toBeNull();
    expect(world().lend(0, 0)).toMatchObject({ amounts: NOTHING, level: { limitTokens: 100_000 } });
  });

  it("nothing near a limit, so that whoever asks is not refused what an isolate does not use", () => {
    const { lend, world: made, cell, limits } = world({ tokensPerMinute: 20_000 });
    expect(lend(100)).toBeNull();
    expect(made.calls).toEqual([]);
    const id = made.reserve(cell, limits, need(20_000));
    made.deliver(made.nextCall());
    expect(made.verdicts.get(id)?.kind).toBe("ok");
  });

  it("nothing while a request waits for tokens, or under other revisions than those of its lease and its loan", () => {
    const { lend, world: made, cell, limits } = world();
    made.reserve(cell, limits, need(50_000));
    expect(lend(100)).toBeNull();
    for (const rev of [2, 0]) {
      const { world: other, cell: itsCell, lend: before } = world();
      expect(before(100)).not.toBeNull();
      expect(other.lend(itsCell, "l", limitsWith({ ...CAPS, rev }), need(100), need(10))).toBeNull();
      expect(other.lend(itsCell, "new", limitsWith({ ...CAPS, rev }), need(100), need(10))).toBeNull();
      expect(other.calls).toHaveLength(rev === 2 ? 1 : 0);
    }
  });
});

describe("an allowance", () => {
  it("is reserved, is not in the level, and is charged by what its requests use", () => {
    const { world: made, cell, limits, lend, deliver, loan, facts } = world();
    expect(lend(1_000)?.level).toMatchObject({ remainingTokens: 99_000 });
    expect(cell.wallet.level(limits, made.nowMs)?.remainingTokens).toBe(99_000);
    const id = made.take(loan(), need(300)) ?? "";
    made.settle(cell, id, { tokens: 120, nanoUsd: 5 });
    expect(cell.wallet.level(limits, made.nowMs)?.remainingTokens).toBe(99_180);
    made.calm(12_000);
    expect(facts()).toMatchObject({ account: { usedTokens: 120, usedNanoUsd: 5 }, reserved: need(700) });
    made.takeBack(loan());
    made.calm(2_000);
    deliver();
    expect(facts().reserved).toEqual(NOTHING);
    expect(made.core.bucket(limits, made.nowMs).levelTokens).toBe(100_000);
  });

  it("gives a request what there is of it, and no more comes back than was taken", () => {
    const { world: made, cell, limits, lend, facts } = world();
    lend(100);
    cell.wallet.carve("l", "r", limits, need(250), made.nowMs);
    cell.wallet.takeBack("l", made.nowMs);
    made.calm(12_000);
    expect(facts().reserved).toEqual(need(100));
    cell.wallet.settle("r", { tokens: 250, nanoUsd: 0 }, made.nowMs);
    made.calm(2_000);
    expect(facts()).toMatchObject({ account: { usedTokens: 250 }, reserved: NOTHING });
  });

  it("takes back what a request drew that is about to have a reservation; one that was adopted holds what it drew", () => {
    const { world: made, cell, limits, lend, facts } = world();
    lend(1_000);
    cell.wallet.adopt("adopted", limits, need(40), made.nowMs);
    made.run(cell, cell.wallet.expect("expected", limits, need(40), made.nowMs));
    for (const id of ["adopted", "expected"]) cell.wallet.carve("l", id, limits, need(100), made.nowMs);
    made.run(cell, cell.wallet.withdraw("expected", made.nowMs));
    made.calm(12_000);
    expect(facts().reserved).toEqual(need(900));
    cell.wallet.settle("adopted", { tokens: 7, nanoUsd: 0 }, made.nowMs);
    made.calm(2_000);
    expect(facts()).toMatchObject({ account: { usedTokens: 7 }, reserved: need(800) });
  });

  it("gives a request that was adopted before it was told as taken what it took, and no token more comes back", () => {
    const { world: made, cell, limits, lend, loan, facts } = world({ tokensPerMinute: 100_000 });
    const spent = () => 100_000 - (made.core.bucket(limits, made.nowMs).levelTokens + facts().reserved.bucketTokens);
    lend(1_000);
    cell.wallet.adopt("early", limits, need(300), made.nowMs);
    cell.wallet.carve("l", "early", limits, need(300), made.nowMs);
    made.takeBack(loan());
    cell.wallet.settle("early", { tokens: 120, nanoUsd: 0 }, made.nowMs);
    expect(cell.wallet.level(limits, made.nowMs)?.remainingTokens).toBe(99_880);
    made.run(cell, cell.wallet.tick(made.nowMs + 1_000));
    made.deliver(made.nextCall());
    expect(spent()).toBe(120);
  });

  it("that is not known lets a request go unchecked, to be charged at its end", () => {
    const { world: made, cell, limits, facts } = world();
    cell.wallet.carve("unknown", "r", limits, need(100), made.nowMs);
    cell.wallet.settle("r", { tokens: 60, nanoUsd: 0 }, made.nowMs);
    made.calm(12_000);
    expect(facts()).toMatchObject({ account: { usedTokens: 60 }, reserved: NOTHING });
  });

  it("that is lost stays reserved until the ledger has been asked, also past a crash of the authority", () => {
    const { world: made, cell, limits, lend, loan, facts } = world();
    lend(1_000);
    made.writeOff(loan());
    made.calm(12_000);
    made.checkpoint();
    made.crashAuthority();
    made.calm(10_000);
    expect(facts()).toMatchObject({ account: { usedTokens: 0 }, reserved: need(1_000) });
    made.calm(20_000);
    expect(made.core.awaitsLedger(made.nowMs)).not.toEqual([]);
    made.askLedger(limits);
    expect(facts()).toMatchObject({ account: { usedTokens: 1_000 }, reserved: NOTHING });
    made.checkpoint();
    made.calm(15_000);
    expect(cell.wallet.idle).toBe(true);
  });

  it("that is lost is spent of the bucket, also before the object has heard of it", () => {
    const { world: made, cell, limits, lend, loan } = world();
    lend(1_000);
    made.reserve(cell, limits, need(50_000));
    const ask = made.nextCall();
    made.writeOff(loan());
    made.deliver(ask);
    expect(cell.wallet.level(limits, made.nowMs)?.remainingTokens).toBe(49_000);
  });

  it("that is lost gives up what its requests drew when they are adopted after all", () => {
    const { world: made, cell, limits, lend, loan, facts } = world();
    lend(1_000);
    made.writeOff(loan());
    made.calm(12_000);
    cell.wallet.adopt("late", limits, need(300), made.nowMs);
    made.calm(2_000);
    expect(facts().reserved).toEqual(need(1_000));
    cell.wallet.settle("late", { tokens: 200, nanoUsd: 0 }, made.nowMs);
    made.calm(2_000);
    expect(facts()).toMatchObject({ account: { usedTokens: 200 }, reserved: times(need(1_000), 0.7) });
  });
});

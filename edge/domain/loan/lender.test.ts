/** What a Cell lends and when it has it back, rule by rule. */
import { beforeEach, describe, expect, it } from "vitest";
import { zeroUsageRow } from "../../../shared/usage-row.ts";
import { limitsWith } from "../budget/testing/world.ts";
import { CLAIM_MS, Lender, type LoanBooks, type SessionState } from "./lender.ts";
import { type Ended, LOAN_MARGIN_MS, LOAN_MS, type Shape, type Told } from "./messages.ts";

const NOTHING_TOLD: Told = { shapes: [], taken: [], ended: [], returned: [], dropped: [], wishes: [] };
const NEED = { bucketTokens: 0, termTokens: 10, nanoUsd: 0 };
const ENDS_MS = LOAN_MS + LOAN_MARGIN_MS;
const KEY = { kind: "key", id: "k", rev: 5 } as const;

const SHAPE: Shape = {
  tenant: { id: "t", name: "Acme", weight: 100, maxInFlight: null },
  group: { name: "default", weight: 100 },
  model: { name: "m", admissionWeight: 100, maxInFlight: null },
  revs: [KEY, { kind: "all", id: "*", rev: 1 }],
  limits: limitsWith({}),
};

/** What is lent, who has a seat, and everything that was said, in order. */
class Books implements LoanBooks {
  readonly lentIds = new Set<string>();
  readonly seats = new Map<string, string>();
  readonly said: string[] = [];
  spare = 4;
  staleRevs = false;

  lend(lentId: string): boolean {
    if (this.lentIds.size + this.seats.size >= this.spare) return false;
    this.lentIds.add(lentId);
    return true;
  }

  unlend(lentId: string): void {
    this.lentIds.delete(lentId);
  }

  allow(): { amounts: typeof NEED; level: null } {
    return { amounts: NEED, level: null };
  }

  takeBack(loanId: string): void {
    this.said.push(`${loanId} taken back`);
  }

  writeOff(loanId: string): void {
    this.said.push(`${loanId} written off`);
  }

  occupy(lentId: string, _loanId: string, ask: { readonly requestId: string }): boolean {
    if (this.seats.has(ask.requestId)) return false;
    this.lentIds.delete(lentId);
    this.seats.set(ask.requestId, lentId);
    return true;
  }

  end(requestId: string, _settlement: unknown, orphan: boolean): void {
    this.said.push(`${requestId} ended${orphan ? ", perhaps known" : ""}`);
    this.#vacate(requestId);
  }

  abandon(requestId: string): void {
    this.said.push(`${requestId} abandoned`);
    this.#vacate(requestId);
  }

  stale(): boolean {
    return this.staleRevs;
  }

  #vacate(requestId: string): void {
    const lentId = this.seats.get(requestId);
    if (this.seats.delete(requestId) && lentId !== undefined) this.lentIds.add(lentId);
  }
}

const taken = (requestId: string) => ({ shape: 1, requestId, costTokens: 10, need: NEED });
const runs = (requestId: string) => ({
  ...taken(requestId),
  row: zeroUsageRow(requestId, 0),
  estimate: { inputTokens: 4, outputTokens: 6, costUsd: 0 },
});
const ends = (requestId: string, more: Partial<Ended> = {}): Ended => ({
  requestId,
  taken: null,
  settlement: { row: zeroUsageRow(requestId, 0), actualTokens: 1 },
  orphan: false,
  left: false,
  ...more,
});

describe("a Cell's lender", () => {
  let books: Books;
  let lender: Lender;
  let session: SessionState;
  const tell = (told: Partial<Told>, nowMs: number) => lender.told(session, { ...NOTHING_TOLD, ...told }, nowMs);
  const slots = () => [books.lentIds.size, books.seats.size];

  beforeEach(() => {
    books = new Books();
    lender = new Lender(books);
    session = lender.open(0);
    const wish = { shape: 1, slots: 2, amounts: NEED, atLeast: NEED };
    expect(tell({ shapes: [[1, SHAPE]], wishes: [wish] }, 0).lent).toEqual([
      { shape: 1, slots: 2, amounts: NEED, level: null },
    ]);
  });

  it("lends as many slots as there are, and nothing on records that have changed", () => {
    const wish = { shape: 1, slots: 9, amounts: NEED, atLeast: NEED };
    expect(tell({ wishes: [wish] }, 1).lent[0]?.slots).toBe(2);
    books.staleRevs = true;
    expect(tell({ wishes: [wish] }, 2).lent[0]).toMatchObject({ slots: 0, amounts: null });
  });

  it("lets a slot serve one request after another, also within one message", () => {
    tell({ taken: [runs("a"), runs("b")] }, 1);
    expect(slots()).toEqual([0, 2]);
    tell({ ended: [ends("a"), ends("c", { taken: taken("c") })], taken: [runs("d")] }, 2);
    expect([slots(), books.said]).toEqual([
      [0, 2],
      ["a ended", "c ended"],
    ]);
  });

  it("counts a request for which nothing is lent, and keeps no slot of it", () => {
    tell({ taken: [runs("a"), runs("b"), runs("c")] }, 1);
    tell({ ended: [ends("a"), ends("b"), ends("c")] }, 2);
    expect(slots()).toEqual([2, 0]);
  });

  it("has the slots of a loan that was dropped back as they are free, and the rest of its allowance at once", () => {
    tell({ taken: [runs("a")] }, 1);
    tell({ dropped: [1] }, 2);
    expect([slots(), books.said]).toEqual([[0, 1], ["l2 taken back"]]);
    tell({ ended: [ends("a")] }, 3);
    expect(slots()).toEqual([0, 0]);
  });

  it("has a slot back whose request asked for a permit that never came", () => {
    tell({ taken: [runs("a")] }, 1);
    tell({ ended: [ends("a", { left: true })] }, 2);
    expect(slots()).toEqual([1, 0]);
  });

  it("keeps what is free until the loan has ended on every clock, and says so when the isolate comes back", () => {
    lender.tick(ENDS_MS - 1);
    expect(slots()).toEqual([2, 0]);
    lender.tick(ENDS_MS);
    expect(slots()).toEqual([0, 0]);
    expect(tell({}, ENDS_MS + 1).expired).toBe(true);
    expect(tell({}, ENDS_MS + 2).expired).toBe(false);
  });

  it("settles what ran on a lost session once nobody can claim it; what is free and unspent goes at the loan's end", () => {
    tell({ taken: [runs("a")] }, 1);
    lender.lost(session, 2);
    expect(lender.nextWakeMs(2)).toBe(1 + ENDS_MS);
    lender.tick(1 + ENDS_MS);
    expect([slots(), books.said]).toEqual([[0, 1], ["l2 written off"]]);
    lender.tick(1 + ENDS_MS + CLAIM_MS);
    expect([slots(), books.said.at(-1), lender.sessions.size]).toEqual([[0, 0], "a abandoned", 0]);
  });

  it("does not give away the slot of a lost session whose request is over: another may have taken it unheard", () => {
    tell({ taken: [runs("a")] }, 1);
    lender.lost(session, 2);
    books.end("a", null, true);
    lender.settledElsewhere("a");
    expect(slots()).toEqual([2, 0]);
    lender.tick(1 + ENDS_MS);
    expect(slots()).toEqual([0, 0]);
  });

  it("says of a row that it may be known when it came another way before its session told of it", () => {
    lender.settledElsewhere("a");
    tell({ ended: [ends("a", { taken: taken("a") })] }, 1);
    expect(books.said).toEqual(["a ended, perhaps known"]);
  });

  it("seats nobody who has left with a permit before the Cell was told that he came", () => {
    lender.left("a");
    tell({ taken: [runs("a")] }, 1);
    expect(slots()).toEqual([1, 0]);
  });

  it("calls in what is built on a record, again until it is known to be dropped", () => {
    expect(lender.recall([{ ...KEY, id: "other", rev: 9 }], 1)).toEqual([]);
    expect(lender.recall([{ ...KEY, rev: 9 }], 1)).toEqual([session]);
    expect(lender.recall([{ kind: "all", id: "*", rev: 9 }], 1)).toEqual([session]);
    expect(tell({}, 2).called).toEqual([1]);
    expect(tell({ dropped: [1] }, 3).called).toEqual([]);
    expect(lender.recall(null, 4)).toEqual([]);
  });

  it("lends nothing for a moment after somebody had to wait for what was lent", () => {
    lender.recall(null, 1);
    const wish = { shape: 2, slots: 1, amounts: NEED, atLeast: NEED };
    expect(tell({ shapes: [[2, SHAPE]], wishes: [wish] }, 2).lent[0]?.slots).toBe(0);
    expect(tell({ wishes: [wish] }, 600).lent[0]?.slots).toBe(1);
  });

  it("has everything back when a session says good-bye", () => {
    tell({ taken: [runs("a"), runs("b")] }, 1);
    lender.close(session, { ...NOTHING_TOLD, ended: [ends("a")] }, 2);
    expect([slots(), books.said]).toEqual([
      [0, 0],
      ["a ended", "l2 taken back", "b abandoned"],
    ]);
  });
});

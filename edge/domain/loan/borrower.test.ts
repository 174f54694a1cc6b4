/** When an isolate gives a session up whose carrier was cut off, by example. */
import { describe, expect, it } from "vitest";
import { zeroUsageRow } from "../../../shared/usage-row.ts";
import type { Ask } from "../ask.ts";
import { limitsWith } from "../budget/testing/world.ts";
import { Borrower } from "./borrower.ts";
import { WARM_REQUESTS } from "./demand.ts";
import { CLAIM_MS } from "./lender.ts";
import type { LoanBook } from "./loan-book.ts";
import { LOAN_MARGIN_MS, LOAN_MS } from "./messages.ts";

const ASK: Ask = {
  requestId: "r",
  tenant: { id: "t", name: "Acme", weight: 100, maxInFlight: null },
  group: { name: "default", weight: 100 },
  model: { name: "m", admissionWeight: 100, maxInFlight: null },
  costTokens: 10,
  revs: [],
  openUntilMs: null,
  waitedMs: null,
  row: zeroUsageRow("r", 0),
  limits: limitsWith({}),
  need: { bucketTokens: 10, termTokens: 10, nanoUsd: 0 },
  estimate: { inputTokens: 4, outputTokens: 6, costUsd: 0.5 },
};

/** Asks until a session is due. */
function due(borrower: Borrower, nowMs: number): LoanBook | null {
  for (let times = 0; times < WARM_REQUESTS; times += 1) borrower.asked(ASK, nowMs);
  return borrower.due(nowMs);
}

describe("a session whose carrier is heard of no more", () => {
  it("is given up before the Cell settles its requests without their rows", () => {
    const borrower = new Borrower(0);
    const book = due(borrower, 0);
    if (book === null) throw new Error("no session is due");
    borrower.serves(book, 0);
    borrower.beat(book, 2_000);
    expect(borrower.forsaken(2_000 + LOAN_MS)).toBeNull();
    expect(borrower.forsaken(2_000 + LOAN_MS + LOAN_MARGIN_MS + CLAIM_MS - 1)).toBe(book);
  });

  it("is found again by another request until its rows are on their way, also when who sends them is cut off", () => {
    const borrower = new Borrower(0);
    const book = due(borrower, 0);
    if (book === null) throw new Error("no session is due");
    const wishes = book.message(0)?.wishes ?? [];
    const lent = wishes.map(({ shape, slots, amounts }) => ({ shape, slots, amounts, level: null }));
    book.answered({ lent, durable: [], expired: false, called: [] }, 0, 0);
    borrower.serves(book, 0);
    expect(borrower.take(ASK, 1)?.book).toBe(book);
    const settlement = { row: ASK.row, actualTokens: 1 };
    expect(book.end(ASK.requestId, settlement, 2)).toBe(true);
    borrower.over(book, true, 10);
    expect(book.finish()).toEqual([settlement]);
    expect(borrower.forsaken(5_000)).toBe(book);
    expect(book.finish()).toEqual([settlement]);
    book.safe(ASK.requestId);
    borrower.gone(book);
    expect([book.finish(), borrower.forsaken(10_000)]).toEqual([[], null]);
  });

  it("keeps no other from being opened, also when its successor was cut off as well", () => {
    const borrower = new Borrower(0);
    const first = due(borrower, 0);
    if (first === null) throw new Error("no session is due");
    borrower.serves(first, 0);
    expect(borrower.due(3_000)).not.toBeNull();
    const later = Array.from({ length: 10 }, (_, at) => due(borrower, 20_000 + at * 2_000));
    expect(later.filter((book) => book !== null)).not.toEqual([]);
  });
});

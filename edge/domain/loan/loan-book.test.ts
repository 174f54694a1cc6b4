/** An isolate's books of one session, rule by rule. */
import { beforeEach, describe, expect, it } from "vitest";
import { zeroUsageRow } from "../../../shared/usage-row.ts";
import type { Ask, Settlement } from "../ask.ts";
import { limitsWith } from "../budget/testing/world.ts";
import { WARM_REQUESTS } from "./demand.ts";
import { SPAN_MS } from "./loan.ts";
import { LoanBook } from "./loan-book.ts";
import { LOAN_MS, type Renewal } from "./messages.ts";

const askOf = (requestId: string, rev = 5): Ask => ({
  requestId,
  tenant: { id: "t", name: "Acme", weight: 100, maxInFlight: null },
  group: { name: "default", weight: 100 },
  model: { name: "m", admissionWeight: 100, maxInFlight: null },
  costTokens: 10,
  revs: [{ kind: "key", id: "k", rev }],
  openUntilMs: null,
  waitedMs: null,
  row: zeroUsageRow(requestId, 0),
  limits: limitsWith({}),
  need: { bucketTokens: 10, termTokens: 10, nanoUsd: 0 },
  estimate: { inputTokens: 4, outputTokens: 6, costUsd: 0.5 },
});
const settlementOf = (requestId: string): Settlement => ({ row: zeroUsageRow(requestId, 0), actualTokens: 1 });
const NO_NEWS: Renewal = { lent: [], durable: [], expired: false, called: [] };
const ids = (list: readonly { readonly requestId: string }[] | undefined) => list?.map(({ requestId }) => requestId);

describe("an isolate's book", () => {
  let book: LoanBook;

  beforeEach(() => {
    book = new LoanBook(0);
    for (let times = 0; times < WARM_REQUESTS; times += 1) book.asked(askOf(`asked-${times}`), 0);
    const wishes = book.message(0)?.wishes ?? [];
    expect(wishes.map(({ shape, slots }) => [shape, slots])).toEqual([[1, WARM_REQUESTS]]);
    const lent = wishes.map(({ shape, amounts }) => ({ shape, slots: 2, amounts, level: null }));
    book.answered({ ...NO_NEWS, lent }, 0, 1);
  });

  it("takes a slot until the loan ends by the time of the message that renewed it", () => {
    expect(book.take(askOf("a"), LOAN_MS - 1)).toMatchObject({ admission: "fast" });
    expect(book.take(askOf("b"), LOAN_MS)).toBeNull();
    book.message(LOAN_MS);
    book.answered(NO_NEWS, LOAN_MS, LOAN_MS + 100);
    expect(book.take(askOf("b"), 2 * LOAN_MS - 1)).not.toBeNull();
    expect(book.take(askOf("c"), 2 * LOAN_MS - 1)).toBeNull();
  });

  it("drops a loan that is built on other revisions than the request", () => {
    expect(book.take(askOf("a", 6), 1)).toBeNull();
    expect(book.take(askOf("b"), 1)).toBeNull();
    expect(book.message(1)?.dropped).toEqual([1]);
  });

  it("lets go at a recall of its record or of all, and takes nothing that an answer under way brings for it", () => {
    book.recall({ items: [{ kind: "key", id: "other", rev: 6 }] });
    expect(book.take(askOf("a"), 1)).not.toBeNull();
    book.recall({ items: [{ kind: "key", id: "k", rev: 6 }] });
    book.answered({ ...NO_NEWS, lent: [{ shape: 1, slots: 1, amounts: null, level: null }] }, 1, 2);
    expect(book.take(askOf("b"), 2)).toBeNull();
    expect(book.message(2)).toMatchObject({ dropped: [1], wishes: [] });
  });

  it.each(["expired", "called"])("lets go when the Cell's answer says that its loans are %s", (news) => {
    book.answered(news === "expired" ? { ...NO_NEWS, expired: true } : { ...NO_NEWS, called: [1] }, 1, 2);
    expect(book.take(askOf("a"), 2)).toBeNull();
  });

  it("tells of a request once that it took a slot and once that it ended, or both at once", () => {
    book.take(askOf("a"), 1);
    expect(ids(book.message(1)?.taken)).toEqual(["a"]);
    book.take(askOf("b"), 2);
    expect([book.end("a", settlementOf("a"), 3), book.end("b", settlementOf("b"), 3)]).toEqual([true, true]);
    const told = book.message(3);
    expect([ids(told?.taken), told?.ended.map(({ requestId, taken }) => [requestId, taken !== null])]).toEqual([
      [],
      [
        ["a", false],
        ["b", true],
      ],
    ]);
    expect(book.end("a", settlementOf("a"), 4)).toBe(false);
  });

  it("keeps a row until the Cell has called it durable, or hands it out at the end", () => {
    for (const id of ["a", "b"]) {
      book.take(askOf(id), 1);
      book.end(id, settlementOf(id), 2);
    }
    book.message(2);
    book.answered({ ...NO_NEWS, durable: ["a"] }, 2, 3);
    expect(book.settled).toBe(false);
    expect(book.finish().map(({ row }) => row.request_id)).toEqual(["b"]);
  });

  it("lets the row of a request that outlives its loan go another way, and tells of its end all the same", () => {
    book.take(askOf("a"), 1);
    expect(book.end("a", settlementOf("a"), LOAN_MS)).toBe(false);
    expect(book.message(LOAN_MS)?.ended).toMatchObject([{ requestId: "a", orphan: true }]);
  });

  it("settles a request that gave up at its estimate; once the session is over that goes another way", () => {
    book.take(askOf("a"), 1);
    book.take(askOf("b"), 1);
    expect(book.abandon("a", 2)).toBeNull();
    expect(book.message(2)?.ended[0]?.settlement).toMatchObject({ row: { status_code: 499, total_tokens: 10 } });
    book.finish();
    expect(book.abandon("b", 3)?.row).toMatchObject({ request_id: "b", admission: "fast", total_tokens: 10 });
  });

  it("lends the slot of a request that asks for its own permit to nobody else, whatever comes of that", () => {
    book.take(askOf("a"), 1);
    book.message(1);
    book.leaving("a");
    book.end("a", settlementOf("a"), 2);
    expect(book.message(2)?.ended).toMatchObject([{ requestId: "a", left: true }]);
    expect([book.take(askOf("b"), 3) !== null, book.take(askOf("c"), 3)]).toEqual([true, null]);
  });

  it("does not tell of a request that left before the Cell knew of it: it gives the slot back", () => {
    book.take(askOf("a"), 1);
    book.leaving("a");
    book.left("a");
    expect(book.message(2)).toMatchObject({ taken: [], ended: [], returned: [[1, 1]] });
    expect(book.end("a", settlementOf("a"), 3)).toBe(false);
  });

  it("gives back what a span did not need, and a loan that it did not use", () => {
    book.answered({ ...NO_NEWS, lent: [{ shape: 1, slots: 8, amounts: null, level: null }] }, 1, 2);
    book.take(askOf("a"), 2);
    book.end("a", settlementOf("a"), 3);
    expect(book.message(SPAN_MS)).toMatchObject({ returned: [[1, 8]], dropped: [] });
    expect(book.message(2 * SPAN_MS)).toMatchObject({ dropped: [1] });
  });

  it("asks for its successor at once for what it uses", () => {
    book.take(askOf("a"), 1);
    expect(book.successor(2).message(2)?.wishes).toMatchObject([{ shape: 1, slots: WARM_REQUESTS + 1 }]);
  });
});

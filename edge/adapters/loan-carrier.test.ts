/** A session of loans is carried until it is over, and no row is lost with it, however it ends. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Renewal } from "../domain/loan/messages.ts";
import { askOf, Stage, settlementOf, writesDown } from "./testing/loan-stage.ts";

describe("a session of loans", () => {
  let stage: Stage;
  beforeEach(() => {
    vi.useFakeTimers();
    stage = new Stage();
  });
  afterEach(() => vi.useRealTimers());

  /** Begins a session that has its first loans. Answers what resolves when it is over. */
  async function opened(): Promise<{ readonly over: Promise<void> }> {
    const over = stage.begin();
    await vi.advanceTimersByTimeAsync(0);
    return { over };
  }

  it("tells what happened, and is closed once nobody needs it", async () => {
    stage.answer = writesDown;
    const { over } = await opened();
    expect(stage.serve("one")).toBe(true);
    await vi.advanceTimersByTimeAsync(1_000);
    await over;
    expect(stage.told.flatMap(({ ended }) => ended.map(({ requestId }) => requestId))).toEqual(["one"]);
    expect([stage.closes, stage.disposed, stage.resent, stage.events]).toEqual([1, 1, [], []]);
    expect(stage.borrower.take(askOf("two"), Date.now())).toBeNull();
  });

  it("waits for the requests that run on it, as long as they may need to have permits of their own", async () => {
    stage.answer = writesDown;
    const { over } = await opened();
    const book = stage.take("one");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(stage.closes).toBe(0);
    stage.borrower.leaving("one");
    stage.borrower.left("one");
    await vi.advanceTimersByTimeAsync(10);
    await over;
    expect([stage.closes, stage.resent]).toEqual([1, []]);
    expect(book.end("one", settlementOf(askOf("one")), Date.now())).toBe(false);
  });

  it("sends the rows another way that the Cell has not called durable in the end", async () => {
    const { over } = await opened();
    stage.serve("one");
    await vi.advanceTimersByTimeAsync(15_000);
    await over;
    expect([stage.closes, stage.resent]).toEqual([1, ["one"]]);
  });

  it("sends no row again that a Cell which answers could not write down for a while", async () => {
    const { over } = await opened();
    stage.serve("one");
    await vi.advanceTimersByTimeAsync(8_000);
    stage.answer = async () => ({ durable: ["one"] });
    await vi.advanceTimersByTimeAsync(1_000);
    await over;
    expect([stage.closes, stage.resent]).toEqual([1, []]);
  });

  it("ends before its request has made more calls than a platform may grant", async () => {
    stage.answer = writesDown;
    const { over } = await opened();
    for (let turn = 0; turn < 1_000; turn += 1) {
      const book = stage.borrower.take(askOf("one"), Date.now())?.book;
      book?.end("one", settlementOf(askOf("one")), Date.now());
      await vi.advanceTimersByTimeAsync(5);
    }
    await over;
    expect(stage.closes).toBe(1);
    expect(stage.told.length).toBeLessThan(950);
  });

  it("waits less for requests that never end", async () => {
    const { over } = await opened();
    stage.take("one");
    await vi.advanceTimersByTimeAsync(6_000);
    await over;
    expect(stage.closes).toBe(1);
  });

  it.each([
    ["breaks", async () => await Promise.reject(new Error("reset"))],
    ["is silent", async () => await new Promise<never>(() => undefined)],
  ])("that %s is over: rows go another way, requests ask the Cell, the next session waits", async (_, answer) => {
    const { over } = await opened();
    const later = stage.take("later");
    stage.serve("one");
    stage.answer = answer;
    await vi.advanceTimersByTimeAsync(6_000);
    await over;
    expect([stage.resent, stage.disposed, stage.events]).toEqual([["one"], 1, ["loan_session_lost"]]);
    expect(later.end("later", settlementOf(askOf("later")), Date.now())).toBe(false);
    expect(stage.borrower.take(askOf("two"), Date.now())).toBeNull();
  });

  it("does not ask at every turn a Cell that has nothing to lend", async () => {
    const nothing = { slots: 0, amounts: null, level: null };
    stage.answer = async ({ wishes }) => ({ lent: wishes.map(({ shape }) => ({ shape, ...nothing })) });
    const { over } = await opened();
    for (let waitedMs = 0; waitedMs < 1_000; waitedMs += 10) {
      expect(stage.borrower.take(askOf("one"), Date.now())).toBeNull();
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(stage.told.length).toBeLessThan(30);
    await vi.advanceTimersByTimeAsync(1_000);
    await over;
  });

  it("that cannot be opened is tried again after a while", async () => {
    stage.open = async () => await Promise.reject(new Error("no Cell"));
    await stage.begin();
    expect(() => stage.due()).toThrow("no session is due");
    await vi.advanceTimersByTimeAsync(1_000);
    await stage.begin();
    expect([stage.opens, stage.events]).toEqual([2, ["loan_session_lost", "loan_session_lost"]]);
  });

  it("is followed by another, and lets its own requests end", async () => {
    stage.answer = writesDown;
    const { over: first } = await opened();
    const book = stage.take("old");
    for (let waitedMs = 0; waitedMs < 3_000; waitedMs += 100) {
      stage.serve(`during-${waitedMs}`);
      await vi.advanceTimersByTimeAsync(100);
    }
    const next = stage.borrower.due(Date.now());
    if (next === null) throw new Error("no session is due");
    const second = stage.carry(next);
    await vi.advanceTimersByTimeAsync(10);
    stage.serve("new");
    expect([stage.opens, stage.closes]).toEqual([2, 0]);
    expect(book.end("old", settlementOf(askOf("old")), Date.now())).toBe(true);
    await vi.advanceTimersByTimeAsync(2_000);
    await Promise.all([first, second]);
    expect([stage.closes, stage.resent]).toEqual([2, []]);
  });

  it("lets go of its loans before it acknowledges that they are called in", async () => {
    const { over } = await opened();
    await stage.recall?.({ items: null });
    expect(stage.borrower.take(askOf("one"), Date.now())).toBeNull();
    await vi.advanceTimersByTimeAsync(1_000);
    await over;
    expect(stage.told.flatMap(({ dropped }) => dropped)).toEqual([1]);
  });

  it("whose carrier was cut off is ended by the next one, which sends its rows", async () => {
    const cutOff = stage.due();
    const nowMs = Date.now();
    const wishes = cutOff.message(nowMs)?.wishes ?? [];
    const lent = wishes.map(({ shape, slots, amounts }) => ({ shape, slots, amounts, level: null }));
    cutOff.answered({ lent, durable: [], expired: false, called: [] }, nowMs, nowMs);
    stage.borrower.serves(cutOff, nowMs);
    stage.serve("one");
    await vi.advanceTimersByTimeAsync(10_000);
    const next = stage.borrower.due(Date.now());
    if (next === null) throw new Error("no session is due");
    const over = stage.carry(next);
    await vi.advanceTimersByTimeAsync(1_000);
    await over;
    expect([stage.opens, stage.closes, stage.resent]).toEqual([1, 1, ["one"]]);
    expect(cutOff.end("one", settlementOf(askOf("one")), Date.now())).toBe(false);
  });

  it("that was given up while its Cell was silent is not closed but lost: its rows went another way", async () => {
    const { over } = await opened();
    const silence = Promise.withResolvers<Partial<Renewal>>();
    stage.serve("one");
    stage.answer = async () => await silence.promise;
    await vi.advanceTimersByTimeAsync(2_000);
    // Its carrier waits and is alive; by a clock that runs ahead it is not.
    expect(stage.borrower.forsaken(Date.now())).toBeNull();
    const book = stage.borrower.forsaken(Date.now() + 2_000);
    if (book === null) throw new Error("it is not given up");
    stage.borrower.over(book, true, Date.now());
    expect(book.finish().map(({ row }) => row.request_id)).toEqual(["one"]);
    silence.resolve({});
    await vi.advanceTimersByTimeAsync(6_000);
    await over;
    expect([stage.closes, stage.disposed, stage.events]).toEqual([0, 1, ["loan_session_lost"]]);
  });

  it("whose carrier was cut off before it could serve keeps no other from being opened", async () => {
    stage.due();
    expect(() => stage.due()).toThrow("no session is due");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(() => stage.due()).toThrow("no session is due");
    await vi.advanceTimersByTimeAsync(1_000);
    const over = stage.begin();
    await vi.advanceTimersByTimeAsync(1_000);
    await over;
    expect([stage.opens, stage.closes]).toEqual([1, 1]);
  });
});

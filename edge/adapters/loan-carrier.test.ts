/** A session of loans is carried until it is over, and no row is lost with it, however it ends. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { zeroUsageRow } from "../../shared/usage-row.ts";
import type { Ask, Settlement } from "../domain/ask.ts";
import { limitsWith } from "../domain/budget/testing/world.ts";
import { Borrower } from "../domain/loan/borrower.ts";
import { type LoanBook, WARM_REQUESTS } from "../domain/loan/loan-book.ts";
import type { LoanSession, Recall, Renewal, Told } from "../domain/loan/messages.ts";
import { LoanCarrier } from "./loan-carrier.ts";

const askOf = (requestId: string): Ask => ({
  requestId,
  tenant: { id: "t", name: "Acme", weight: 100, maxInFlight: null },
  group: { name: "default", weight: 100 },
  model: { name: "m", admissionWeight: 100, maxInFlight: null },
  costTokens: 10,
  revs: [{ kind: "key", id: "k", rev: 5 }],
  row: zeroUsageRow(requestId, Date.now()),
  limits: limitsWith({}),
  need: { bucketTokens: 10, termTokens: 10, nanoUsd: 0 },
  estimate: { inputTokens: 4, outputTokens: 6, costUsd: 0.5 },
});

const settlementOf = (ask: Ask): Settlement => ({ row: ask.row, actualTokens: 1 });

/** One isolate, and a Cell that lends what is wished for and writes nothing down unless it is told to. */
class Stage {
  readonly borrower = new Borrower(Date.now());
  readonly told: Told[] = [];
  readonly resent: string[] = [];
  readonly events: string[] = [];
  opens = 0;
  closes = 0;
  disposed = 0;
  recall: ((recall: Recall) => Promise<void>) | null = null;
  open: () => Promise<void> = async () => undefined;
  answer: (told: Told) => Promise<Partial<Renewal>> = async () => ({});
  #asked = 0;

  /** Asks often enough for a session to be due. Throws when none is. */
  due(): LoanBook {
    for (let times = 1; times <= WARM_REQUESTS; times += 1) {
      this.#asked += 1;
      this.borrower.asked(askOf(`asked-${this.#asked}`), Date.now());
      const book = this.borrower.due(Date.now());
      if (book !== null) return book;
    }
    throw new Error("no session is due");
  }

  async begin(): Promise<void> {
    await this.carry(this.due());
  }

  async carry(book: LoanBook): Promise<void> {
    await new LoanCarrier(book, {
      cell: "fra",
      borrower: this.borrower,
      open: async (recall) => {
        this.recall = recall;
        this.opens += 1;
        await this.open();
        return { session: this.#session() };
      },
      resend: async ({ row }) => void this.resent.push(row.request_id),
      clock: Date.now,
      log: { event: (name) => void this.events.push(name) },
    }).carry();
  }

  /** A request that takes a lent slot. */
  take(requestId: string): LoanBook {
    const borrowed = this.borrower.take(askOf(requestId), Date.now());
    if (borrowed === null) throw new Error("there is no lent slot");
    return borrowed.book;
  }

  /** A request that takes a lent slot, and ends. */
  serve(requestId: string): boolean {
    const ask = askOf(requestId);
    return this.take(requestId).end(
      requestId,
      { ...settlementOf(ask), row: { ...ask.row, request_id: requestId } },
      Date.now(),
    );
  }

  #session(): LoanSession {
    const tell = async (told: Told): Promise<Renewal> => {
      this.told.push(told);
      const lent = told.wishes.map(({ shape, slots, amounts }) => ({ shape, slots, amounts, level: null }));
      return { lent, durable: [], expired: false, called: [], ...(await this.answer(told)) };
    };
    return {
      tell,
      close: async (told) => {
        await tell(told);
        this.closes += 1;
      },
      [Symbol.dispose]: () => {
        this.disposed += 1;
      },
    };
  }
}

const writesDown = async (told: Told): Promise<Partial<Renewal>> => ({
  durable: told.ended.map(({ requestId }) => requestId),
});

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

/**
 * A stage for tests of loans: an isolate's books, the real carrier, and a Cell that a test plays by hand.
 */
import { zeroUsageRow } from "../../../shared/usage-row.ts";
import type { Ask, Settlement } from "../../domain/ask.ts";
import { limitsWith } from "../../domain/budget/testing/world.ts";
import { Borrower } from "../../domain/loan/borrower.ts";
import { WARM_REQUESTS } from "../../domain/loan/demand.ts";
import type { LoanBook } from "../../domain/loan/loan-book.ts";
import type { LoanSession, Recall, Renewal, Told } from "../../domain/loan/messages.ts";
import { LoanCarrier } from "../loan-carrier.ts";

/** An ask of one tenant, without limits. */
export const askOf = (requestId: string): Ask => ({
  requestId,
  tenant: { id: "t", name: "Acme", weight: 100, maxInFlight: null },
  group: { name: "default", weight: 100 },
  model: { name: "m", admissionWeight: 100, maxInFlight: null },
  costTokens: 10,
  revs: [{ kind: "key", id: "k", rev: 5 }],
  openUntilMs: null,
  waitedMs: null,
  row: zeroUsageRow(requestId, Date.now()),
  limits: limitsWith({}),
  need: { bucketTokens: 10, termTokens: 10, nanoUsd: 0 },
  estimate: { inputTokens: 4, outputTokens: 6, costUsd: 0.5 },
});

/** Its end. */
export const settlementOf = (ask: Ask): Settlement => ({ row: ask.row, actualTokens: 1 });

/** One isolate, and a Cell that lends what is wished for and writes nothing down unless it is told to. */
export class Stage {
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

/** Answers as a Cell that writes every row down at once. */
export const writesDown = async (told: Told): Promise<Partial<Renewal>> => ({
  durable: told.ended.map(({ requestId }) => requestId),
});

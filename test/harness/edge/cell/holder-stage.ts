/** A holder of sessions with a Cell that the test plays, in fake time. */
import { vi } from "vitest";
import { SessionHolder } from "../../../../edge/adapters/objects/session-holder.ts";
import type {
  ExchangeAnswer,
  ExchangeMessage,
  ExchangeSession,
} from "../../../../edge/domain/admission/exchange-messages.ts";
import { MemberTable } from "../../../../edge/domain/admission/member-table.ts";
import { zeroUsageRow } from "../../../../shared/usage/usage-row.ts";
import { admissionRequestOf } from "./admission-requests.ts";

export const SILENCE: ExchangeAnswer = { decided: [], hits: [], stored: [], refused: [], unknown: [] };
export const GRANTED = { verdict: "granted", grant: { admission: "fast", queueWaitMs: 0, level: null } } as const;
export const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms));

/** One holder, and a Cell that the test plays. It grants every request, and stores every row. */
export class HolderStage {
  readonly table = new MemberTable();
  /** What each call carried: ids of requests and rows. */
  readonly sent: string[][] = [];
  readonly resent: string[] = [];
  readonly events: string[] = [];
  readonly aways: number[] = [];
  opened = 0;
  calls = 0;
  closes = 0;
  /** Another holder is about to serve. */
  yields = false;
  disposes = 0;
  /** Whether the failure to open a session means that the Cell is away. */
  isAlone = true;
  opens: () => Promise<void> = async () => undefined;
  answers: (message: ExchangeMessage) => Promise<Partial<ExchangeAnswer>> = async (message) =>
    exchangeAnswerOf(message);
  closing: () => Promise<void> = async () => undefined;
  resending: () => Promise<void> = async () => undefined;
  news = Promise.withResolvers<ExchangeAnswer>();
  readonly holder: SessionHolder;

  constructor(requestId: string | null = null) {
    if (requestId !== null) this.ask(requestId);
    this.holder = new SessionHolder({
      yields: () => this.yields,
      table: this.table,
      requestId,
      cell: "fra",
      clock: Date.now,
      log: { event: (name) => void this.events.push(name) },
      opened: () => {
        this.opened += 1;
      },
      away: () => {
        this.aways.push(Date.now());
        return this.isAlone;
      },
      open: async (message) => {
        this.calls += 1;
        this.sent.push(idsOf(message));
        await this.opens();
        return { session: this.#session(), answer: { ...SILENCE, ...(await this.answers(message)) } };
      },
      resend: async ({ row }) => {
        this.calls += 1;
        await this.resending();
        this.resent.push(row.request_id);
        this.table.rowSaved(row.request_id);
      },
    });
  }

  ask(id: string): void {
    this.table.ask(admissionRequestOf(id, "t")).catch(() => undefined);
  }

  /** Hands in the row of a request that asked for no slot. */
  say(id: string): void {
    this.table.record({ row: zeroUsageRow(id, 0) });
    this.holder.wake();
  }

  end(id: string): void {
    this.table.end({ row: zeroUsageRow(id, 0), actualTokens: 1 });
    this.holder.wake();
  }

  /** The session that serves is lost. */
  loseSession(): void {
    this.news.reject(new Error("reset"));
  }

  #session(): ExchangeSession {
    const news = Promise.withResolvers<ExchangeAnswer>();
    this.news = news;
    return {
      exchange: async (message) => {
        this.calls += 1;
        this.sent.push(idsOf(message));
        return { ...SILENCE, ...(await this.answers(message)) };
      },
      news: async () => {
        this.calls += 1;
        return await news.promise;
      },
      close: async () => {
        this.closes += 1;
        await this.closing();
        news.resolve(SILENCE);
      },
      [Symbol.dispose]: () => {
        this.disposes += 1;
      },
    };
  }
}

export function idsOf({ asks, ends, records, returns, departures }: ExchangeMessage): string[] {
  const requests = [...returns, ...asks].map(({ requestId }) => requestId);
  return [
    ...[...ends, ...records].map(({ row }) => row.request_id),
    ...departures.map(({ requestId }) => requestId),
    ...requests,
  ];
}

export function exchangeAnswerOf({ asks, ends, records }: ExchangeMessage): Partial<ExchangeAnswer> {
  const stored = [...ends, ...records].map(({ row }) => row.request_id);
  return { stored, decided: asks.map(({ requestId }) => [requestId, GRANTED]) };
}

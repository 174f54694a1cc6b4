/** Admission by exchanges of one isolate, with a Cell that the test plays and a clock that the test sets. */

import { vi } from "vitest";
import { type AdmissionStubs, CellAdmission } from "../../../edge/adapters/objects/cell-admission.ts";
import { ExchangeAdmission } from "../../../edge/adapters/objects/exchange-admission.ts";
import type {
  ExchangeAnswer,
  ExchangeMessage,
  ExchangeSession,
} from "../../../edge/domain/admission/exchange-messages.ts";
import type { AdmissionRequest, PermitHandle } from "../../../edge/domain/admission/rpc.ts";
import { zeroUsageRow } from "../../../shared/usage-row.ts";
import { admissionRequestOf } from "./cell/admission-requests.ts";

const SILENCE: ExchangeAnswer = { decided: [], hits: [], stored: [], refused: [] };
/** What the Cell grants. */
export const GRANTED = { verdict: "granted", grant: { admission: "fast", queueWaitMs: 0, level: null } } as const;
/** A call that never answers. */
export const never = async () => await new Promise<never>(() => undefined);

function permit(disposed: () => void = () => undefined): PermitHandle {
  return {
    decision: async () => GRANTED,
    inUse: async () => undefined,
    lost: never,
    settle: async () => undefined,
    [Symbol.dispose]: disposed,
  };
}

/**
 * One isolate and its Cell. `said` lists the messages to the Cell, by kind and request; a row that is sent is stored.
 */
export class IsolateHarness {
  readonly said: string[] = [];
  readonly kept: Promise<unknown>[] = [];
  disposed = 0;
  /** Permits of waiting requests that were disposed. */
  readonly left: string[] = [];
  holds: () => Promise<void> = async () => undefined;
  #news = Promise.withResolvers<ExchangeAnswer>();
  opens: () => Promise<void> = async () => undefined;
  exchanges: () => Promise<void> = async () => undefined;
  answer: (request: AdmissionRequest) => ExchangeAnswer["decided"][number][1] = () => GRANTED;
  /** Whether the Cell knows the request when the isolate asks for its permit. */
  known = true;
  readonly admission: ExchangeAdmission;

  constructor() {
    const quiet = { event: () => undefined };
    const cell = {
      admit: async (request: AdmissionRequest) => {
        this.said.push(`admit ${request.requestId}${request.waitedMs === null ? "" : " again"}`);
        return { ...GRANTED, permit: permit() };
      },
      hold: async (id: string) => {
        this.said.push(`hold ${id}`);
        await this.holds();
        return this.known ? { permit: permit(() => void this.left.push(id)) } : null;
      },
      adopt: async ({ requestId }: AdmissionRequest) => {
        this.said.push(`adopt ${requestId}`);
        return { permit: permit() };
      },
      settleOrphan: async ({ request_id: id }: { readonly request_id: string }) => {
        this.said.push(`orphan ${id}`);
      },
      openSession: async (message: ExchangeMessage) => {
        await this.opens();
        this.said.push("open");
        return { session: this.#session(), answer: this.#answerMessage(message) };
      },
    };
    const stubs = { cell: () => cell } as unknown as AdmissionStubs;
    this.admission = new ExchangeAdmission({
      direct: new CellAdmission(stubs, "fra", 1, { raise: () => undefined }, quiet),
      clock: Date.now,
      keepAlive: (work) => void this.kept.push(work),
      log: quiet,
    });
  }

  async admit(id: string) {
    return await this.admission.admit(admissionRequestOf(id, "t"));
  }

  /** A request that holds a slot by the session; it opens a session when there is none. */
  async running(id: string) {
    const admitting = this.admit(id);
    await vi.advanceTimersByTimeAsync(0);
    const admitted = await admitting;
    if (admitted.verdict !== "granted") throw new Error(admitted.verdict);
    return admitted;
  }

  /** A request that waits in the session. */
  async waiting(id: string) {
    this.answer = () => ({ verdict: "waiting" });
    const admitted = await this.admit(id);
    if (admitted.verdict !== "waiting") throw new Error(admitted.verdict);
    return admitted;
  }

  /** Makes the session report these decisions, besides what it answers. */
  push(decided: ExchangeAnswer["decided"]): void {
    this.#news.resolve({ ...SILENCE, decided });
    this.#news = Promise.withResolvers();
  }

  /** From now on the request in whose context a session runs executes no more code: its timers are gone. */
  cutOff(): void {
    vi.clearAllTimers();
  }

  #session(): ExchangeSession {
    return {
      exchange: async (message) => {
        await this.exchanges();
        return this.#answerMessage(message);
      },
      news: async () => await this.#news.promise,
      close: async () => undefined,
      [Symbol.dispose]: () => {
        this.disposed += 1;
      },
    };
  }

  #answerMessage({ asks, ends, records, departures }: ExchangeMessage): ExchangeAnswer {
    const rows = [...ends, ...records].map(({ row }) => row.request_id);
    this.said.push(...departures.map((id) => `departure ${id}`));
    this.said.push(...asks.map(({ requestId }) => `ask ${requestId}`), ...rows.map((id) => `row ${id}`));
    return { ...SILENCE, decided: asks.map((request) => [request.requestId, this.answer(request)]), stored: rows };
  }
}

/** The end of a request. */
export const end = (id: string) => ({ row: zeroUsageRow(id, 0), actualTokens: 1 });
/** Advances the time by this much. */
export const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms));

/**
 * One isolate with a Cell that the test plays. Code runs in contexts, one for each request: when one is cut off, its timers are gone and
 * no call of it is answered. Call {@link playContexts} before each test, with fake timers.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { vi } from "vitest";
import { type AdmissionStubs, CellAdmission } from "../../edge/adapters/objects/cell-admission.ts";
import { MemberAdmission } from "../../edge/adapters/objects/member-admission.ts";
import type {
  Departure,
  ExchangeAnswer,
  ExchangeMessage,
  ExchangeSession,
  SessionOpening,
} from "../../edge/domain/admission/exchange-messages.ts";
import type { AdmissionRequest } from "../../edge/domain/admission/rpc.ts";
import { zeroUsageRow } from "../../shared/usage/usage-row.ts";
import { admissionRequestOf } from "./edge/cell/admission-requests.ts";
import { GRANTED, pass, SILENCE } from "./edge/cell/holder-stage.ts";

const WAITS = { verdict: "waiting" } as const;
export const never = async () => await new Promise<never>(() => undefined);

/** The context of a request: when it is cut off, its timers are gone, and no call of it is answered. */
class Context {
  alive = true;
}
const contexts = new AsyncLocalStorage<Context>();

/** Timers belong to the context that started them. */
function withContexts(start: typeof setTimeout): typeof setTimeout {
  const started = (run: () => void, ms?: number) => {
    const context = contexts.getStore();
    const inContext = () => {
      if (context === undefined) run();
      else if (context.alive) contexts.run(context, run);
    };
    return start(inContext, ms);
  };
  return started as typeof setTimeout;
}

/** One isolate and its Cell. `said` lists what the Cell was told; it grants every request and stores every row. */
export class PlayedIsolate {
  readonly said: string[] = [];
  readonly members: SessionOpening[] = [];
  readonly events: string[] = [];
  readonly alerts: string[] = [];
  readonly ledger: string[] = [];
  readonly contexts = new Map<string, Context>();
  calls = 0;
  /** How an attempt to open a session ends. */
  opens: () => Promise<void> = async () => undefined;
  exchanges: () => Promise<void> = async () => undefined;
  settles: () => Promise<void> = async () => undefined;
  appends: () => Promise<void> = async () => undefined;
  answer: (request: AdmissionRequest) => ExchangeAnswer["decided"][number][1] = () => GRANTED;
  hit: ExchangeAnswer["hits"][number][1] = { verdict: "current", level: null };
  readonly admission: MemberAdmission;
  #news = Promise.withResolvers<ExchangeAnswer>();

  constructor(leaseMs?: number) {
    const log = { event: (name: string) => void this.events.push(name) };
    const cell = {
      settleOrphan: async ({ request_id: id }: { readonly request_id: string }) => {
        this.said.push(`orphan ${id}`);
        await this.settles();
      },
      record: async ({ request_id: id }: { readonly request_id: string }) => {
        this.said.push(`record ${id}`);
        await this.settles();
      },
      openSession: async (member: SessionOpening, message: ExchangeMessage) => {
        this.calls += 1;
        await this.opens();
        this.said.push("open");
        this.members.push(member);
        return { session: this.#session(), answer: await this.#answered(message) };
      },
    };
    const ledger = {
      appendOrphan: async ({ request_id: id }: { readonly request_id: string }) => {
        await this.appends();
        this.ledger.push(id);
      },
    };
    const stubs = { cell: () => cell, ledger: () => ledger } as unknown as AdmissionStubs;
    const alerts = { raise: ({ issueKey }: { readonly issueKey: string }) => void this.alerts.push(issueKey) };
    this.admission = new MemberAdmission({
      member: "isolate",
      direct: new CellAdmission({ stubs, cell: "fra", shards: 1, alerts, log }),
      clock: Date.now,
      keepAlive: () => undefined,
      log,
      leaseMs,
    });
  }

  as<T>(id: string, work: () => T): T {
    const context = this.contexts.get(id) ?? new Context();
    this.contexts.set(id, context);
    return contexts.run(context, work);
  }

  admit(id: string, over: Partial<AdmissionRequest> = {}) {
    return this.as(id, async () => await this.admission.admit(admissionRequestOf(id, "t", over)));
  }

  /** A request with a slot or a place. */
  async admitted(id: string) {
    const admitting = this.admit(id);
    await pass(0);
    const admitted = await admitting;
    if (admitted.verdict === "stale") throw new Error("stale");
    return admitted.permit;
  }

  async waiting(id: string) {
    this.answer = () => WAITS;
    const permit = await this.admitted(id);
    return { permit, decision: outcome(this.as(id, async () => await permit.decision())) };
  }

  /** The request in whose context code runs is cut off. */
  cutOff(id: string): void {
    const context = this.contexts.get(id);
    if (context !== undefined) context.alive = false;
  }

  push(decided: ExchangeAnswer["decided"] = []): void {
    this.#news.resolve({ ...SILENCE, decided });
  }

  loseSession(): void {
    this.#news.reject(new Error("reset"));
  }

  #session(): ExchangeSession {
    let news = this.#news;
    return {
      exchange: async (message) => {
        this.calls += 1;
        await this.exchanges();
        return await this.#answered(message);
      },
      news: async () => {
        this.calls += 1;
        news = Promise.withResolvers();
        this.#news = news;
        const answer = await news.promise;
        return contexts.getStore()?.alive === false ? await never() : answer;
      },
      close: async () => {
        if (contexts.getStore()?.alive === false) await never();
        this.said.push("close");
        news.resolve(SILENCE);
      },
      [Symbol.dispose]: () => undefined,
    };
  }

  async #answered({ asks, ends, records, departures, hits, returns }: ExchangeMessage): Promise<ExchangeAnswer> {
    if (contexts.getStore()?.alive === false) await never();
    const rows = [...ends, ...records].map(({ row }) => row.request_id);
    this.said.push(...rows.map((id) => `row ${id}`), ...departures.map(saysDeparture));
    this.said.push(...hits.map(({ row, again }) => `hit ${row.request_id}${again === true ? " again" : ""}`));
    this.said.push(...returns.map(({ requestId }) => `return ${requestId}`), ...asks.map(saysAsk));
    return {
      ...SILENCE,
      decided: asks.map((request) => [request.requestId, this.answer(request)]),
      hits: hits.map(({ row }) => [row.request_id, this.hit]),
      stored: rows,
    };
  }
}

const saysDeparture = ({ requestId, isLost }: Departure) => `${isLost ? "departure" : "withdrawal"} ${requestId}`;
const saysAsk = ({ requestId, again, waitedMs }: AdmissionRequest) =>
  `ask ${requestId}${again === true || waitedMs !== null ? " again" : ""}`;
export const end = (id: string) => ({ row: zeroUsageRow(id, 0), actualTokens: 1 });
export const hitOf = (id: string) => ({ revs: [], limits: null, row: zeroUsageRow(id, 0) });

/** What became of some work, by now. */
export function outcome(work: Promise<unknown>): { now: unknown } {
  const seen: { now: unknown } = { now: "waits" };
  work.then(
    (value) => (seen.now = value),
    (error: unknown) => (seen.now = error),
  );
  return seen;
}

export const refused =
  (flags: object = {}) =>
  async () =>
    await Promise.reject(Object.assign(new Error("away"), flags));

export function playContexts(): void {
  vi.stubGlobal("setTimeout", withContexts(setTimeout));
  vi.stubGlobal("setInterval", withContexts(setInterval as unknown as typeof setTimeout));
}

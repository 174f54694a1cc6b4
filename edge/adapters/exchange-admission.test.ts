/** Admission by exchanges upon a Cell that a test plays: who asks in the session, and what becomes of requests when it fails. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { zeroUsageRow } from "../../shared/usage-row.ts";
import type { Ask, PermitHandle } from "../domain/ask.ts";
import type { ExchangeAnswer, ExchangeMessage, ExchangeSession } from "../domain/exchange/messages.ts";
import { askOf } from "../objects/testing/asks.ts";
import { CellAdmission, type Places } from "./cell-admission.ts";
import { ExchangeAdmission } from "./exchange-admission.ts";

const SILENCE: ExchangeAnswer = { decided: [], hits: [], stored: [], refused: [] };
const GRANTED = { verdict: "granted", grant: { admission: "fast", queueWaitMs: 0, level: null } } as const;
const never = async () => await new Promise<never>(() => undefined);

/** Its place was lost, and it got another by a call of its own. */
const ANEW = { verdict: "granted", placeLost: true };

function permit(disposed: () => void = () => undefined): PermitHandle {
  return {
    decision: async () => GRANTED,
    inUse: async () => undefined,
    leave: async () => undefined,
    lost: never,
    settle: async () => undefined,
    [Symbol.dispose]: disposed,
  };
}

/** One isolate and its Cell. What is said to the Cell is listed, by kind and request; a row that is said is stored. */
class Stage {
  readonly said: string[] = [];
  readonly kept: Promise<unknown>[] = [];
  disposed = 0;
  /** Permits of waiting requests that were disposed. */
  readonly left: string[] = [];
  holds: () => Promise<void> = async () => undefined;
  #news = Promise.withResolvers<ExchangeAnswer>();
  opens: () => Promise<void> = async () => undefined;
  exchanges: () => Promise<void> = async () => undefined;
  answer: (ask: Ask) => ExchangeAnswer["decided"][number][1] = () => GRANTED;
  /** What a request has that the Cell knows, when it asks for a permit. */
  known = true;
  readonly admission: ExchangeAdmission;

  constructor() {
    const quiet = { event: () => undefined };
    const cell = {
      admit: async (ask: Ask) => {
        this.said.push(`admit ${ask.requestId}${ask.waitedMs === null ? "" : " again"}`);
        return { ...GRANTED, permit: permit() };
      },
      hold: async (id: string) => {
        this.said.push(`hold ${id}`);
        await this.holds();
        return this.known ? { permit: permit(() => void this.left.push(id)) } : null;
      },
      adopt: async ({ requestId }: Ask) => {
        this.said.push(`adopt ${requestId}`);
        return { permit: permit() };
      },
      settleOrphan: async ({ request_id: id }: { readonly request_id: string }) => {
        this.said.push(`orphan ${id}`);
      },
      openSession: async (message: ExchangeMessage) => {
        await this.opens();
        this.said.push("open");
        return { session: this.#session(), answer: this.#hear(message) };
      },
    };
    const places = { cell: () => cell } as unknown as Places;
    this.admission = new ExchangeAdmission({
      direct: new CellAdmission(places, "fra", 1, { raise: () => undefined }, quiet),
      clock: Date.now,
      keepAlive: (work) => void this.kept.push(work),
      log: quiet,
    });
  }

  async admit(id: string) {
    return await this.admission.admit(askOf(id, "t"));
  }

  /** A request that holds a slot by the session, which it opens if there is none. */
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

  /** The session says so, besides what it answers. */
  tell(decided: ExchangeAnswer["decided"]): void {
    this.#news.resolve({ ...SILENCE, decided });
    this.#news = Promise.withResolvers();
  }

  /** From now on code of the request that carries a session gets no further: its timers are gone. */
  cutOff(): void {
    vi.clearAllTimers();
  }

  #session(): ExchangeSession {
    return {
      exchange: async (message) => {
        await this.exchanges();
        return this.#hear(message);
      },
      news: async () => await this.#news.promise,
      close: async () => undefined,
      [Symbol.dispose]: () => {
        this.disposed += 1;
      },
    };
  }

  #hear({ asks, ends, records, departures, withdrawals }: ExchangeMessage): ExchangeAnswer {
    const rows = [...ends, ...records].map(({ row }) => row.request_id);
    this.said.push(...departures.map((id) => `departure ${id}`), ...withdrawals.map((id) => `withdrawal ${id}`));
    this.said.push(...asks.map(({ requestId }) => `ask ${requestId}`), ...rows.map((id) => `row ${id}`));
    return { ...SILENCE, decided: asks.map((ask) => [ask.requestId, this.answer(ask)]), stored: rows };
  }
}

const end = (id: string) => ({ row: zeroUsageRow(id, 0), actualTokens: 1 });
const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms));

let stage: Stage;
beforeEach(() => {
  vi.useFakeTimers();
  stage = new Stage();
});
afterEach(() => void vi.useRealTimers());

describe("a request", () => {
  it("asks in the session that the first one opens, or by itself while that opens", async () => {
    const all = [stage.admit("first"), stage.admit("second")];
    await pass(0);
    await stage.running("third");
    expect((await Promise.all(all)).map(({ verdict }) => verdict)).toEqual(["granted", "granted"]);
    expect(stage.said.toSorted()).toEqual(["admit second", "ask first", "ask third", "open"]);
  });

  it("that was granted in the session is held by it, and is to have a permit of its own when it asks", async () => {
    const { permit: held } = await stage.running("one");
    await expect(held.lost()).rejects.toThrow("held by a session");
    const own = await stage.admission.adopt(askOf("one", "t"));
    await expect(held.settle(end("one"))).rejects.toThrow("the session is over");
    held[Symbol.dispose]();
    await own.settle(end("one"));
    await pass(500);
    expect(stage.said).toEqual(["open", "ask one", "adopt one"]);
  });

  it("that has to wait hears its decision in the session, which holds what it is granted", async () => {
    const waiting = await stage.waiting("one");
    stage.tell([["one", GRANTED]]);
    expect(await waiting.permit.decision()).toEqual(GRANTED);
    expect(waiting.sessionLost?.()).toBeInstanceOf(Promise);
    await waiting.permit.settle(end("one"));
    await pass(500);
    expect([stage.said, stage.disposed]).toEqual([["open", "ask one", "row one"], 1]);
  });

  it("that waits for a second takes a permit of its own, and the session says nothing more of it", async () => {
    const waiting = await stage.waiting("one");
    const deciding = waiting.permit.decision();
    await pass(999);
    expect(stage.said).toEqual(["open", "ask one"]);
    await pass(1);
    expect(await deciding).toEqual(GRANTED);
    expect(waiting.sessionLost?.()).toBeNull();
    await waiting.permit.settle(end("one"));
    waiting.permit[Symbol.dispose]();
    await pass(500);
    expect([stage.said, stage.disposed]).toEqual([["open", "ask one", "hold one"], 1]);
  });

  it.each([
    ["leaves while it waits has used nothing", [], false, "withdrawal one"],
    ["leaves as its grant comes has used nothing", [["one", GRANTED]], false, "withdrawal one"],
    ["goes when it has used its grant says so", [["one", GRANTED]], true, "departure one"],
  ] as const)("that %s", async (_, decided, used, said) => {
    const { permit: held } = await stage.waiting("one");
    stage.tell(decided);
    await pass(1);
    if (used) await held.inUse();
    held[Symbol.dispose]();
    await pass(10);
    expect(stage.said).toEqual(["open", "ask one", said]);
  });

  it("that leaves as it takes a permit of its own leaves that one too", async () => {
    const holding = Promise.withResolvers<void>();
    stage.holds = async () => await holding.promise;
    const { permit: held } = await stage.waiting("one");
    const deciding = expect(held.decision()).rejects.toThrow("the permit has ended");
    await pass(1_000);
    held[Symbol.dispose]();
    holding.resolve();
    await deciding;
    expect(stage.left).toEqual(["one"]);
  });

  it("whose session fails before its answer asks anew by itself, as one that lost its place", async () => {
    stage.opens = async () => await Promise.reject(new Error("lost"));
    expect(await stage.admit("one")).toMatchObject(ANEW);
    expect(stage.said).toEqual(["admit one again"]);
  });

  it("is told that its place is lost when the Cell does not know any more that it waits", async () => {
    stage.known = false;
    const { permit: held } = await stage.waiting("one");
    const deciding = expect(held.decision()).rejects.toThrow("the place is lost");
    await pass(1_000);
    await deciding;
    expect(stage.said).toEqual(["open", "ask one", "hold one"]);
  });

  it("waits five seconds for the answer of a session that lives, and no longer", async () => {
    await stage.running("first");
    stage.exchanges = never;
    const asking = stage.admit("one");
    await pass(4_999);
    expect(stage.said).toEqual(["open", "ask first"]);
    await pass(1);
    expect(await asking).toMatchObject(ANEW);
  });
});

describe("a session whose carrier is cut off", () => {
  it("is given up by whoever waits for its answer, who looks every second", async () => {
    await stage.running("first");
    stage.exchanges = never;
    stage.cutOff();
    const asking = stage.admit("one");
    await pass(2_999);
    expect(stage.said).toEqual(["open", "ask first"]);
    await pass(1);
    expect(await asking).toMatchObject(ANEW);
  });

  it("has its rows sent by the next request, once; what is still open in it is told, and ends by itself", async () => {
    const running = await stage.running("runs");
    const ended = await stage.running("ends");
    stage.exchanges = never;
    await ended.permit.settle(end("ends"));
    await pass(10);
    stage.cutOff();
    await pass(2_100);
    stage.exchanges = async () => undefined;
    await stage.running("next");
    await stage.running("after");
    await running.sessionLost;
    await expect(running.permit.settle(end("runs"))).rejects.toThrow("the session is over");
    expect(stage.said).toEqual(["open", "ask runs", "ask ends", "orphan ends", "open", "ask next", "ask after"]);
  });

  it("is handed no more rows, and is seen to by whoever has one", async () => {
    const running = await stage.running("runs");
    const ended = await stage.running("ends");
    stage.exchanges = never;
    await ended.permit.settle(end("ends"));
    await pass(10);
    stage.cutOff();
    await pass(2_100);
    await expect(running.permit.settle(end("runs"))).rejects.toThrow("the session is over");
    await stage.admission.settleOrphan(end("runs").row);
    await Promise.all(stage.kept.slice(-1));
    expect(stage.said.slice(3).toSorted()).toEqual(["orphan ends", "orphan runs"]);
  });

  it("is not served by any more when its answer comes after all, and holds nothing then", async () => {
    const opening = Promise.withResolvers<void>();
    stage.opens = async () => await opening.promise;
    const first = stage.admit("first");
    await pass(0);
    stage.cutOff();
    await pass(2_100);
    stage.opens = async () => undefined;
    await stage.running("second");
    opening.resolve();
    await pass(0);
    expect(await first).toMatchObject(ANEW);
    await stage.running("third");
    expect(stage.said).toEqual(["open", "ask second", "admit first again", "open", "ask first", "ask third"]);
    expect(stage.disposed).toBe(1);
  });
});

it("gives up a session that opens too late, which then holds nothing", async () => {
  const opening = Promise.withResolvers<void>();
  stage.opens = async () => await opening.promise;
  const asking = stage.admit("one");
  await pass(5_000);
  expect(await asking).toMatchObject(ANEW);
  await Promise.all(stage.kept);
  opening.resolve();
  await pass(0);
  expect([stage.disposed, stage.said]).toEqual([1, ["admit one again", "open", "ask one"]]);
});

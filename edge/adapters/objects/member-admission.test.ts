/**
 * Admission by exchanges, with a Cell that the test plays: which requests use the session, and what becomes of requests
 * when the session fails.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { zeroUsageRow } from "../../../shared/usage-row.ts";
import { admissionRequestOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import type { ExchangeAnswer, ExchangeMessage, ExchangeSession } from "../../domain/admission/exchange-messages.ts";
import type { AdmissionRequest, PermitHandle } from "../../domain/admission/rpc.ts";
import { type AdmissionStubs, CellAdmission } from "./cell-admission.ts";
import { ExchangeAdmission } from "./exchange-admission.ts";

const SILENCE: ExchangeAnswer = { decided: [], hits: [], stored: [], refused: [] };
/** What the Cell grants. */
const GRANTED = { verdict: "granted", grant: { admission: "fast", queueWaitMs: 0, level: null } } as const;
/** A call that never answers. */
const never = async () => await new Promise<never>(() => undefined);

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
class IsolateHarness {
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
const end = (id: string) => ({ row: zeroUsageRow(id, 0), actualTokens: 1 });
/** Advances the time by this much. */
const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms));

/** The request lost its place, and got another one by a call of its own. */
const ANEW = { verdict: "granted", placeLost: true };

let stage: IsolateHarness;
beforeEach(() => {
  vi.useFakeTimers();
  stage = new IsolateHarness();
});

describe("a request", () => {
  it("joins the session that the first one opens, or makes its own call while that opens", async () => {
    const all = [stage.admit("first"), stage.admit("second")];
    await pass(0);
    await stage.running("third");
    expect((await Promise.all(all)).map(({ verdict }) => verdict)).toEqual(["granted", "granted"]);
    expect(stage.said.toSorted()).toEqual(["admit second", "ask first", "ask third", "open"]);
  });

  it("that was granted in a session takes its own permit to ask whether its Cell is lost", async () => {
    const { permit: held } = await stage.running("one");
    await expect(held.lost()).rejects.toThrow("held by a session");
    const own = await stage.admission.adopt(admissionRequestOf("one", "t"));
    await expect(held.settle(end("one"))).rejects.toThrow("the session is over");
    held[Symbol.dispose]();
    await own.settle(end("one"));
    await pass(500);
    expect(stage.said).toEqual(["open", "ask one", "adopt one"]);
  });

  it("that waits for a second takes its own permit, and its session reports no more on it", async () => {
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
    expect({ said: stage.said, disposed: stage.disposed }).toEqual({
      said: ["open", "ask one", "hold one"],
      disposed: 1,
    });
  });

  it("that waits in a session which has made all its calls takes a permit of its own at once", async () => {
    const waiting = await stage.waiting("one");
    const deciding = waiting.permit.decision();
    for (let call = 0; call < 600; call += 1) {
      stage.push([]);
      await pass(0);
    }
    expect(await deciding).toEqual(GRANTED);
    expect(stage.said).toEqual(["open", "ask one", "hold one"]);
  });

  it("that has left takes no permit when it would have waited for a second", async () => {
    const { permit: held } = await stage.waiting("one");
    const deciding = expect(held.decision()).rejects.toThrow("the permit has ended");
    const ending = held.settle(end("one"));
    held[Symbol.dispose]();
    await pass(2_000);
    await Promise.all([deciding, ending]);
    expect(stage.said).toEqual(["open", "ask one", "row one"]);
  });

  it("that leaves while it takes its own permit returns that permit too", async () => {
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

  it("gets the failure that its place is lost when the Cell no longer knows that it waits", async () => {
    stage.known = false;
    const { permit: held } = await stage.waiting("one");
    const deciding = expect(held.decision()).rejects.toThrow("the place is lost");
    await pass(1_000);
    await deciding;
    expect(stage.said).toEqual(["open", "ask one", "hold one"]);
  });

  it("waits five seconds for the answer of a live session, and no longer", async () => {
    await stage.running("first");
    stage.exchanges = never;
    const asking = stage.admit("one");
    await pass(4_999);
    expect(stage.said).toEqual(["open", "ask first"]);
    await pass(1);
    expect(await asking).toMatchObject(ANEW);
  });
});

describe("a session whose transport is cut off", () => {
  it("is given up by the requests that wait for its answer", async () => {
    await stage.running("first");
    stage.exchanges = never;
    stage.cutOff();
    const asking = stage.admit("one");
    await pass(1_499);
    expect(stage.said).toEqual(["open", "ask first"]);
    await pass(1);
    expect(await asking).toMatchObject(ANEW);
  });

  it("has its rows sent once by the next request, and its open requests end without it", async () => {
    const running = await stage.running("runs");
    const ended = await stage.running("ends");
    stage.exchanges = never;
    ended.permit.settle(end("ends")).catch(() => undefined);
    await pass(10);
    stage.cutOff();
    await pass(2_100);
    await stage.admission.settleOrphan(end("seen late").row);
    await pass(501);
    stage.exchanges = async () => undefined;
    await stage.running("next");
    await stage.running("after");
    await running.sessionLost?.();
    await expect(running.permit.settle(end("runs"))).rejects.toThrow("the session is over");
    const orphans = ["orphan seen late", "orphan ends"];
    expect(stage.said).toEqual(["open", "ask runs", "ask ends", ...orphans, "open", "ask next", "ask after"]);
  });

  it("gets no more rows; each request sends its own row", async () => {
    const running = await stage.running("runs");
    const ended = await stage.running("ends");
    stage.exchanges = never;
    ended.permit.settle(end("ends")).catch(() => undefined);
    await pass(10);
    stage.cutOff();
    await pass(2_100);
    await expect(running.permit.settle(end("runs"))).rejects.toThrow("the session is over");
    await stage.admission.settleOrphan(end("runs").row);
    await pass(501);
    await stage.admission.settleOrphan(end("other").row);
    await Promise.all(stage.kept.slice(-1));
    expect(stage.said.slice(3).toSorted()).toEqual(["orphan ends", "orphan other", "orphan runs"]);
  });

  it("serves on when only the isolate stood still", async () => {
    await stage.running("first");
    vi.setSystemTime(Date.now() + 3_500);
    await stage.running("before its timers run");
    await pass(100);
    await stage.running("after");
    expect(stage.said).toEqual(["open", "ask first", "ask before its timers run", "ask after"]);
  });

  it("is no longer used if its answer arrives late, and then holds nothing", async () => {
    const opening = Promise.withResolvers<void>();
    stage.opens = async () => await opening.promise;
    const first = stage.admit("first");
    await pass(0);
    stage.cutOff();
    await pass(2_100);
    await stage.running("early");
    await pass(501);
    stage.opens = async () => undefined;
    await stage.running("second");
    opening.resolve();
    await pass(0);
    expect(await first).toMatchObject(ANEW);
    await stage.running("third");
    const second = ["open", "ask second", "admit first again"];
    expect(stage.said).toEqual(["admit early", ...second, "open", "ask first", "ask third"]);
    expect(stage.disposed).toBe(1);
  });
});

it("is given up when it opens too late, and then holds nothing", async () => {
  const opening = Promise.withResolvers<void>();
  stage.opens = async () => await opening.promise;
  const asking = stage.admit("one");
  await pass(5_000);
  expect(await asking).toMatchObject(ANEW);
  await Promise.all(stage.kept);
  opening.resolve();
  await pass(0);
  expect({ disposed: stage.disposed, said: stage.said }).toEqual({
    disposed: 1,
    said: ["admit one again", "open", "ask one"],
  });
});

import { beforeEach, describe, expect, it, vi } from "vitest";
import { zeroUsageRow } from "../../../shared/usage-row.ts";
import type { ExchangeAnswer, ExchangeMessage } from "../../domain/admission/exchange-messages.ts";
import { SessionQueue } from "../../domain/admission/session-queue.ts";
import { ExchangeTransport } from "./exchange-transport.ts";

const SILENCE: ExchangeAnswer = { decided: [], hits: [], stored: [], refused: [] };

/** One transport, and a Cell that the test plays. The rows are records: the queue needs no other kind. */
class Stage {
  readonly queue = new SessionQueue();
  readonly sent: string[][] = [];
  readonly resent: string[] = [];
  readonly events: string[] = [];
  closes = 0;
  disposes = 0;
  opens: () => Promise<void> = async () => undefined;
  answers: (ids: readonly string[]) => Promise<Partial<ExchangeAnswer>> = async (stored) => ({ stored });
  readonly reset = Promise.withResolvers<never>();
  readonly transport = new ExchangeTransport(this.queue, {
    cell: "fra",
    clock: Date.now,
    log: { event: (name) => void this.events.push(name) },
    opened: () => undefined,
    open: async (message) => {
      await this.opens();
      const session = {
        exchange: async (given: ExchangeMessage) => await this.#answer(given),
        news: async () => await this.reset.promise,
        close: async () => {
          this.closes += 1;
        },
        [Symbol.dispose]: () => {
          this.disposes += 1;
        },
      };
      return { session, answer: await this.#answer(message) };
    },
    resend: async ({ row }) => {
      this.resent.push(row.request_id);
      this.queue.rowSaved(row.request_id);
    },
  });

  say(id: string): void {
    this.queue.record({ row: zeroUsageRow(id, 0) });
    this.transport.wake();
  }

  async #answer({ records }: ExchangeMessage): Promise<ExchangeAnswer> {
    const ids = records.map(({ row }) => row.request_id);
    this.sent.push(ids);
    return { ...SILENCE, ...(await this.answers(ids)) };
  }
}

let stage: Stage;
beforeEach(() => {
  vi.useFakeTimers();
  stage = new Stage();
  stage.reset.promise.catch(() => undefined);
});

describe("the transport of a session", () => {
  it("sends what was queued while it opened, batches what can wait, and closes when unused", async () => {
    const over = stage.transport.run();
    stage.say("one");
    await vi.advanceTimersByTimeAsync(1);
    stage.say("two");
    stage.say("three");
    await vi.advanceTimersByTimeAsync(1);
    expect(stage.sent).toEqual([["one"]]);
    await vi.advanceTimersByTimeAsync(4);
    expect(stage.sent).toEqual([["one"], ["two", "three"]]);
    await vi.advanceTimersByTimeAsync(500);
    await over;
    expect({ closes: stage.closes, disposes: stage.disposes, resent: stage.resent, events: stage.events }).toEqual({
      closes: 1,
      disposes: 1,
      resent: [],
      events: [],
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is replaced after some seconds, and closes when no successor follows", async () => {
    const over = stage.transport.run();
    for (let turn = 0; turn < 45; turn += 1) {
      stage.say(`r${turn}`);
      await vi.advanceTimersByTimeAsync(100);
    }
    expect({ wantsSuccessor: stage.transport.wantsSuccessor, isRetired: stage.transport.isRetired }).toEqual({
      wantsSuccessor: true,
      isRetired: false,
    });
    for (let turn = 0; turn < 10; turn += 1) {
      stage.say(`s${turn}`);
      await vi.advanceTimersByTimeAsync(100);
    }
    await over;
    expect({ isRetired: stage.transport.isRetired, closes: stage.closes, events: stage.events }).toEqual({
      isRetired: true,
      closes: 1,
      events: [],
    });
  });

  it("makes no more calls than a platform grants one request", async () => {
    const over = stage.transport.run();
    for (let turn = 0; turn < 1_000; turn += 1) {
      stage.say(`r${turn}`);
      await vi.advanceTimersByTimeAsync(5);
    }
    await over;
    expect(stage.sent.length).toBeLessThan(950);
  });

  it.each([
    ["the Cell is reset", (at: Stage) => at.reset.reject(new Error("reset"))],
    [
      "an exchange fails",
      (at: Stage) => {
        at.answers = async () => await Promise.reject(new Error("lost"));
      },
    ],
    [
      "an exchange is not answered",
      (at: Stage) => {
        at.answers = async () => await new Promise(() => undefined);
      },
    ],
  ])("sends the rows that are not known to be stored another way when %s", async (_, fail) => {
    stage.answers = async (stored) => ({ stored: stored.filter((id) => id === "stored") });
    const over = stage.transport.run();
    stage.say("stored");
    stage.say("sent");
    await vi.advanceTimersByTimeAsync(10);
    fail(stage);
    stage.say("unsent");
    await vi.advanceTimersByTimeAsync(20_000);
    await over;
    expect({ resent: stage.resent.toSorted(), events: stage.events, disposes: stage.disposes }).toEqual({
      resent: ["sent", "unsent"],
      events: ["exchange_lost"],
      disposes: 1,
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("sends a row that the Cell refuses another way, and continues", async () => {
    stage.answers = async (refused) => ({ refused });
    const over = stage.transport.run();
    stage.say("one");
    await vi.advanceTimersByTimeAsync(500);
    await over;
    expect({ resent: stage.resent, closes: stage.closes, events: stage.events }).toEqual({
      resent: ["one"],
      closes: 1,
      events: [],
    });
  });

  it("sends its rows another way when no session can be opened", async () => {
    stage.opens = async () => await Promise.reject(new Error("away"));
    stage.say("one");
    await stage.transport.run();
    expect({ resent: stage.resent, events: stage.events, disposes: stage.disposes }).toEqual({
      resent: ["one"],
      events: ["exchange_lost"],
      disposes: 0,
    });
  });

  it("is late when it is silent, and cut off when it is still silent at a second look", async () => {
    const over = stage.transport.run();
    await vi.advanceTimersByTimeAsync(100);
    const now = () => ({ isLate: stage.transport.isLate, isCutOff: stage.transport.isCutOff });
    expect(now()).toEqual({ isLate: false, isCutOff: false });
    vi.setSystemTime(Date.now() + 10_000);
    expect(now()).toEqual({ isLate: true, isCutOff: false });
    vi.setSystemTime(Date.now() + 501);
    expect(now()).toEqual({ isLate: true, isCutOff: true });
    await vi.advanceTimersByTimeAsync(500);
    await over;
  });
});

import { beforeEach, describe, expect, it, vi } from "vitest";
import { exchangeAnswerOf, HolderStage, idsOf, pass, SILENCE } from "../../../test/harness/edge/cell/holder-stage.ts";
import type { ExchangeAnswer } from "../../domain/admission/exchange-messages.ts";

const never = async () => await new Promise<never>(() => undefined);

let stage: HolderStage;
beforeEach(() => {
  vi.useFakeTimers();
  stage = new HolderStage();
});

describe("a session holder", () => {
  it("sends what was queued while it opened, batches what can wait, and closes when unused", async () => {
    const over = stage.holder.run();
    stage.say("one");
    await pass(1);
    stage.say("two");
    stage.say("three");
    await pass(1);
    expect(stage.sent).toEqual([["one"]]);
    await pass(4);
    expect(stage.sent).toEqual([["one"], ["two", "three"]]);
    await pass(500);
    await over;
    expect({ closes: stage.closes, disposes: stage.disposes, resent: stage.resent, events: stage.events }).toEqual({
      closes: 1,
      disposes: 1,
      resent: [],
      events: [],
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("sends at once what a request waits for", async () => {
    stage = new HolderStage("own");
    void stage.holder.run();
    await pass(1);
    stage.ask("one");
    stage.holder.wake();
    await pass(0);
    expect({ sent: stage.sent, living: stage.table.living() }).toEqual({
      sent: [["own"], ["one"]],
      living: { waiting: [], running: ["own", "one"], others: [] },
    });
    stage.yields = true;
    stage.ask("waits for another holder");
    await pass(500);
    expect(stage.sent).toHaveLength(2);
  });

  it("serves while its own request continues, and is followed four seconds after that has ended", async () => {
    stage = new HolderStage("own");
    const over = stage.holder.run();
    for (let second = 0; second < 60; second += 1) {
      stage.table.signOf("own")();
      await pass(1_000);
    }
    stage.ask("other");
    stage.end("own");
    expect(stage.holder.wantsSuccessor).toBe(false);
    await pass(3_900);
    expect(stage.holder.wantsSuccessor).toBe(false);
    await pass(100);
    expect({ wantsSuccessor: stage.holder.wantsSuccessor, closes: stage.closes }).toEqual({
      wantsSuccessor: true,
      closes: 0,
    });
    await pass(900);
    stage.say("served until another one does");
    await pass(10);
    expect(stage.sent.at(-1)).toEqual(["served until another one does"]);
    stage.holder.replace();
    await pass(0);
    await over;
    expect({ closes: stage.closes, events: stage.events, timers: vi.getTimerCount() }).toEqual({
      closes: 1,
      events: [],
      timers: 0,
    });
  });

  it("ends when no other one follows, and leaves what has no answer to the next", async () => {
    stage.ask("other");
    const over = stage.holder.run();
    await pass(100);
    stage.answers = async () => ({});
    stage.say("row");
    await pass(11_000);
    await over;
    expect({ closes: stage.closes, events: stage.events, timers: vi.getTimerCount() }).toEqual({
      closes: 1,
      events: [],
      timers: 0,
    });
    expect(stage.table.take()?.ends.map(({ row }) => row.request_id)).toEqual(["row"]);
  });

  it("makes no more calls than a platform grants one request, and asks to be followed before", async () => {
    const over = stage.holder.run();
    let wantedAt = 0;
    for (let turn = 0; turn < 1_000; turn += 1) {
      stage.say(`r${turn}`);
      await pass(4);
      if (wantedAt === 0 && stage.holder.wantsSuccessor) wantedAt = stage.calls;
    }
    await pass(10_000);
    await over;
    expect({ wantedAt, isWithin: stage.calls <= 900, timers: vi.getTimerCount() }).toEqual({
      wantedAt: 500,
      isWithin: true,
      timers: 0,
    });
  });

  it("applies what the Cell reports as the session closes", async () => {
    stage.answers = async () => ({});
    const over = stage.holder.run();
    stage.say("one");
    await pass(10);
    stage.holder.replace();
    stage.closing = async () => stage.news.resolve({ ...SILENCE, stored: ["one"] });
    await pass(0);
    await over;
    expect(stage.table.isEmpty).toBe(true);
  });

  it("closes within five seconds when the Cell does not answer any more", async () => {
    const over = stage.holder.run();
    stage.say("one");
    await pass(10);
    stage.closing = never;
    stage.holder.replace();
    await pass(5_000);
    await over;
    expect({ disposes: stage.disposes, timers: vi.getTimerCount() }).toEqual({ disposes: 1, timers: 0 });
  });

  it("departs silent requests from its first session on, until another one serves", async () => {
    stage = new HolderStage("own");
    stage.ask("silent");
    stage.opens = never;
    void stage.holder.run();
    await pass(4_900);
    expect(stage.table.has("silent")).toBe(true);
    stage.opens = async () => undefined;
    for (let second = 0; second < 6; second += 1) {
      stage.table.signOf("own")();
      await pass(1_000);
    }
    expect({ silent: stage.table.has("silent"), own: stage.table.has("own") }).toEqual({ silent: false, own: true });
    stage.end("own");
    stage.ask("left alone");
    await pass(3_900);
    stage.table.signOf("left alone")();
    await pass(5_100);
    expect({ isLeft: stage.table.has("left alone"), sent: stage.sent.at(-1) }).toEqual({
      isLeft: false,
      sent: ["left alone"],
    });
    stage.ask("of another one");
    stage.holder.replace();
    await pass(10_000);
    expect(stage.table.has("of another one")).toBe(true);
  });

  it("is late when it is silent, and cut off when it is still silent at a second look", async () => {
    stage = new HolderStage("own");
    void stage.holder.run();
    await pass(100);
    const now = () => ({ isCutOff: stage.holder.isCutOff, isLate: stage.holder.isLate });
    expect(now()).toEqual({ isLate: false, isCutOff: false });
    vi.setSystemTime(Date.now() + 10_000);
    expect(now()).toEqual({ isLate: true, isCutOff: false });
    await pass(100);
    expect(now()).toEqual({ isLate: false, isCutOff: false });
    vi.setSystemTime(Date.now() + 10_000);
    expect(now()).toEqual({ isLate: true, isCutOff: false });
    vi.setSystemTime(Date.now() + 301);
    expect(now()).toEqual({ isLate: true, isCutOff: true });
  });

  it("ends when unused though the clock was set back", async () => {
    const over = stage.holder.run();
    stage.say("one");
    await pass(10);
    vi.setSystemTime(Date.now() - 3_600_000);
    await pass(500);
    await over;
    expect(stage.closes).toBe(1);
  });
});

describe("a session that is lost", () => {
  it.each([
    ["the Cell is reset", (at: HolderStage) => at.loseSession()],
    [
      "an exchange fails",
      (at: HolderStage) => {
        at.answers = async () => await Promise.reject(new Error("lost"));
      },
    ],
    [
      "an exchange is not answered",
      (at: HolderStage) => {
        at.answers = never;
      },
    ],
  ])("is followed by another at once, which gets what had no answer: %s", async (_, fail) => {
    stage = new HolderStage("own");
    stage.answers = async (message) => ({ stored: idsOf(message).filter((id) => id === "stored") });
    void stage.holder.run();
    stage.say("stored");
    stage.say("sent");
    await pass(10);
    stage.closing = never;
    stage.opens = async () => {
      stage.answers = async (message) => exchangeAnswerOf(message);
    };
    fail(stage);
    stage.say("unsent");
    await pass(0);
    while (stage.events.length === 0) {
      stage.table.signOf("own")();
      await pass(100);
    }
    expect({ opened: stage.opened, sent: stage.sent.at(-1)?.toSorted() }).toEqual({
      opened: 2,
      sent: ["own", "sent", "unsent"],
    });
    expect({ living: stage.table.living().running, events: stage.events, resent: stage.resent }).toEqual({
      living: ["own"],
      events: ["exchange_lost"],
      resent: [],
    });
    expect({ rows: stage.table.rows, disposes: stage.disposes, aways: stage.aways }).toEqual({
      rows: [],
      disposes: 1,
      aways: [],
    });
  });

  it("leaves what it had no answer for to the holder that has replaced it", async () => {
    stage = new HolderStage("own");
    void stage.holder.run();
    await pass(1);
    const answer = Promise.withResolvers<Partial<ExchangeAnswer>>();
    stage.answers = async () => await answer.promise;
    stage.ask("one");
    stage.say("row");
    await pass(10);
    stage.holder.replace();
    answer.reject(new Error("cut"));
    await pass(0);
    const next = stage.table.take();
    expect({ opened: stage.opened, next: next === null ? null : idsOf(next).toSorted() }).toEqual({
      opened: 1,
      next: ["one", "row"],
    });
  });

  it("is opened again for as long as its request continues, though each lasts only a moment", async () => {
    stage = new HolderStage("own");
    const over = stage.holder.run();
    await pass(10);
    for (let loss = 0; loss < 30; loss += 1) {
      stage.loseSession();
      stage.table.signOf("own")();
      await pass(250);
    }
    await over;
    expect({
      opened: stage.opened,
      wantsSuccessor: stage.holder.wantsSuccessor,
      isOpen: stage.table.has("own"),
    }).toEqual({ opened: 30, wantsSuccessor: true, isOpen: true });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a Cell in which no session can be opened", () => {
  const refused = (flags: object) => async () => await Promise.reject(Object.assign(new Error("away"), flags));

  it.each([
    ["at once", {}, 1],
    ["after one more attempt, when that can help", { retryable: true }, 2],
    ["at once, when it has too much to do", { retryable: true, overloaded: true }, 1],
  ])("is reported as away %s", async (_, flags, attempts) => {
    stage = new HolderStage("own");
    stage.opens = refused(flags);
    void stage.holder.run();
    await pass(0);
    expect({ attempts: stage.sent.length, awayCount: stage.aways.length }).toEqual({ attempts, awayCount: 1 });
  });

  it("is tried five times a second, and no more when nothing is left to say", async () => {
    stage = new HolderStage("own");
    stage.opens = refused({});
    const over = stage.holder.run();
    await pass(1_990);
    expect(stage.sent.length).toBe(10);
    stage.end("own");
    await pass(300);
    await over;
    expect({ attempts: stage.sent.length, resent: stage.resent, timers: vi.getTimerCount() }).toEqual({
      attempts: 12,
      resent: ["own"],
      timers: 0,
    });
  });

  it("is tried for six seconds by one request, then by another", async () => {
    stage = new HolderStage("own");
    stage.opens = refused({});
    const over = stage.holder.run();
    await pass(6_000);
    await over;
    expect({ attempts: stage.sent.length, wantsSuccessor: stage.holder.wantsSuccessor }).toEqual({
      attempts: 30,
      wantsSuccessor: true,
    });
  });

  it("gets no more attempts of a holder that is replaced, or whose request has long ended", async () => {
    stage.ask("other");
    stage.opens = refused({});
    const over = stage.holder.run();
    await pass(5_200);
    await over;
    expect(stage.sent.length).toBe(21);
    stage = new HolderStage("own");
    stage.opens = refused({});
    const replaced = stage.holder.run();
    await pass(10);
    stage.holder.replace();
    await pass(200);
    await replaced;
    expect(stage.sent.length).toBe(1);
  });

  it("has its rows sent another way, by as many calls as a request may make", async () => {
    stage = new HolderStage("own");
    stage.opens = refused({});
    stage.resending = never;
    for (let row = 0; row < 1_000; row += 1) stage.say(`r${row}`);
    void stage.holder.run();
    await pass(2_000);
    expect({ calls: stage.calls, wantsSuccessor: stage.holder.wantsSuccessor }).toEqual({
      calls: 451,
      wantsSuccessor: true,
    });
  });

  it("keeps its rows while another holder has a session", async () => {
    stage = new HolderStage("own");
    stage.isAlone = false;
    stage.opens = refused({});
    stage.say("row");
    void stage.holder.run();
    await pass(1_000);
    expect({ resent: stage.resent, rows: stage.table.rows.length }).toEqual({ resent: [], rows: 1 });
  });
});

it("sends a row that the Cell refuses another way, waits for it, and continues", async () => {
  const arrived = Promise.withResolvers<void>();
  stage.resending = async () => await arrived.promise;
  stage.answers = async ({ records }) => ({ refused: records.map(({ row }) => row.request_id) });
  let isOver = false;
  const over = stage.holder.run().then(() => (isOver = true));
  stage.say("one");
  await pass(20_000);
  expect({ isOver, wantsSuccessor: stage.holder.wantsSuccessor }).toEqual({ isOver: false, wantsSuccessor: true });
  arrived.resolve();
  await over;
  expect({ resent: stage.resent, closes: stage.closes, events: stage.events, timers: vi.getTimerCount() }).toEqual({
    resent: ["one"],
    closes: 1,
    events: [],
    timers: 0,
  });
});

it("gives back a session that opens too late, and does not serve in one when it was replaced", async () => {
  const opening = Promise.withResolvers<void>();
  stage = new HolderStage("own");
  stage.opens = async () => await opening.promise;
  const over = stage.holder.run();
  await pass(5_000);
  expect({ awayCount: stage.aways.length, events: stage.events }).toEqual({ awayCount: 1, events: ["exchange_lost"] });
  await pass(200);
  stage.holder.replace();
  opening.resolve();
  await over;
  expect({ opened: stage.opened, disposes: stage.disposes, closes: stage.closes }).toEqual({
    opened: 0,
    disposes: 2,
    closes: 1,
  });
});

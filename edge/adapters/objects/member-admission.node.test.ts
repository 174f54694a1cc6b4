/**
 * One isolate with a Cell that the test plays: which request holds the session, and what happens to requests when contexts of requests,
 * sessions or the Cell are lost.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { GRANTED, pass } from "../../../test/harness/edge/cell/holder-stage.ts";
import {
  end,
  hitOf,
  never,
  outcome,
  PlayedIsolate,
  playContexts,
  refused,
} from "../../../test/harness/played-isolate.ts";

const UNAVAILABLE = expect.objectContaining({ code: "scheduler_unavailable", status: 503 });

let isolate: PlayedIsolate;
beforeEach(() => {
  vi.useFakeTimers();
  playContexts();
  isolate = new PlayedIsolate();
});

afterEach(() => void vi.unstubAllGlobals());

describe("requests of an isolate", () => {
  it("share one session, and what begins in one turn goes in one message", async () => {
    await Promise.all([isolate.admitted("one"), isolate.admitted("two")]);
    await isolate.admitted("three");
    expect({ said: isolate.said, calls: isolate.calls }).toEqual({
      said: ["open", "ask one", "ask two", "ask three"],
      calls: 3,
    });
  });

  it("end when their row is stored", async () => {
    const permit = await isolate.admitted("one");
    const settled = outcome(isolate.as("one", async () => await permit.settle(end("one"))));
    await pass(3);
    expect(settled.now).toBe("waits");
    await pass(1);
    expect({ settled: settled.now, said: isolate.said }).toEqual({
      settled: undefined,
      said: ["open", "ask one", "row one"],
    });
    await pass(2_000);
    expect({ last: isolate.said.at(-1), timers: vi.getTimerCount() }).toEqual({ last: "close", timers: 0 });
  });

  it("get the decision on which they wait, and wait for none when they leave", async () => {
    const [one, two] = [await isolate.waiting("one"), await isolate.waiting("two")];
    isolate.push([["one", GRANTED]]);
    isolate.as("two", () => two.permit.leave());
    await pass(10);
    expect({ one: one.decision.now, two: two.decision.now, said: isolate.said.slice(3) }).toEqual({
      one: GRANTED,
      two: new Error("the request has ended"),
      said: ["departure two"],
    });
  });

  it("are departed when their code gives no sign for five looks, and not before", async () => {
    await isolate.admitted("holds");
    await isolate.admitted("gone");
    isolate.cutOff("gone");
    await pass(4_900);
    expect(isolate.said.slice(3)).toEqual([]);
    await pass(200);
    expect(isolate.said.slice(3)).toEqual(["departure gone"]);
    await pass(60_000);
    expect(isolate.said.slice(4)).toEqual([]);
  });

  it("are departed within 6 s of their last sign when the holder's request ended before", async () => {
    const holds = await isolate.admitted("holds");
    await isolate.admitted("gone");
    void isolate.as("holds", async () => await holds.settle(end("holds")));
    await pass(3_900);
    isolate.cutOff("gone");
    await pass(5_100);
    expect(isolate.said.slice(3)).toEqual(["row holds", "departure gone", "close"]);
  });

  it("give signs by one timer, however often they ask", async () => {
    isolate.opens = refused();
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const asked = outcome(isolate.admit("one", { again: attempt > 0 }));
      await pass(200);
      expect(asked.now).toEqual(UNAVAILABLE);
    }
    isolate.opens = async () => undefined;
    void isolate.admit("one", { again: true });
    await pass(2_000);
    expect(isolate.said.filter((said) => said.startsWith("ask"))).toEqual(["ask one again"]);
    // A sign, the beat of the holder.
    expect(vi.getTimerCount()).toBe(2);
  });

  it("hand in the row of a refusal by themselves when there is no holder, else with the others", async () => {
    const first = isolate.as("first", async () => await isolate.admission.record(zeroUsageRow("first", 0)));
    await pass(10);
    await first;
    await isolate.admitted("holds");
    void isolate.as("second", async () => await isolate.admission.record(zeroUsageRow("second", 0)));
    await pass(10);
    expect(isolate.said).toEqual(["record first", "open", "ask holds", "row second"]);
  });

  it("that were never told of their place end with the row of their refusal", async () => {
    await isolate.admitted("holds");
    isolate.exchanges = refused();
    isolate.answer = () => ({ verdict: "stale", items: [] });
    const asked = isolate.admit("one");
    await pass(0);
    expect(await asked).toEqual({ verdict: "stale", items: [] });
    isolate.exchanges = async () => undefined;
    void isolate.as("one", async () => await isolate.admission.record(zeroUsageRow("one", 0)));
    await pass(10);
    expect(isolate.said.slice(2)).toEqual(["close", "open", "ask one again", "row one"]);
    isolate.cutOff("one");
    await pass(10_000);
    expect(isolate.said.slice(6)).toEqual([]);
  });
});

describe("a stored answer", () => {
  const confirm = (id: string) => isolate.as(id, async () => await isolate.admission.confirmHit(hitOf(id)));

  it("may be sent when the Cell says so, and its row is recorded", async () => {
    const confirming = confirm("one");
    await pass(0);
    const { newer, level, recorded } = await confirming;
    const saved = outcome(recorded);
    await pass(100);
    isolate.loseSession();
    await pass(10);
    expect({ newer, level, saved: saved.now, said: isolate.said }).toEqual({
      newer: [],
      level: null,
      saved: undefined,
      said: ["open", "hit one", "close", "open", "row one"],
    });
  });

  it("has no row when it rests on outdated records", async () => {
    const items = [{ kind: "model", id: "tiny", rev: 2 }] as const;
    isolate.hit = { verdict: "stale", items };
    const confirming = confirm("one");
    await pass(0);
    const { newer, recorded } = await confirming;
    await recorded;
    await pass(1_000);
    expect({ newer, said: isolate.said }).toEqual({ newer: items, said: ["open", "hit one", "close"] });
  });

  it("is asked about again when the answer was lost", async () => {
    await isolate.admitted("holds");
    isolate.exchanges = refused();
    const confirming = confirm("one");
    await pass(0);
    expect(await confirming).toMatchObject({ newer: [] });
    expect(isolate.said.slice(2)).toEqual(["close", "open", "hit one again"]);
  });

  it("is refused when the Cell is away", async () => {
    isolate.opens = refused();
    const confirming = outcome(confirm("one"));
    await pass(0);
    expect(confirming.now).toEqual(UNAVAILABLE);
  });
});

describe("a session holder", () => {
  it("that is cut off is replaced by a request that runs, before the Cell gives that up", async () => {
    await isolate.admitted("holds");
    await pass(690);
    await isolate.admitted("runs");
    isolate.cutOff("holds");
    await pass(1_990);
    expect(isolate.said).toEqual(["open", "ask holds", "ask runs", "open"]);
    expect(isolate.members[1]).toEqual({
      member: "isolate",

      waiting: [],
      running: ["holds", "runs"],
      others: [],
    });
    await pass(10_000);
    expect(isolate.said.slice(4)).toEqual(["departure holds"]);
  });

  it("that is cut off is replaced by a request that asks, which sends what had no answer", async () => {
    const ended = await isolate.admitted("ends");
    await isolate.admitted("holds");
    isolate.exchanges = never;
    void isolate.as("ends", async () => await ended.settle(end("ends")));
    await pass(10);
    for (const id of ["ends", "holds"]) isolate.cutOff(id);
    await pass(600);
    const asked = outcome(isolate.admit("asks"));
    isolate.exchanges = async () => undefined;
    await pass(1_200);
    expect({ asked: asked.now, said: isolate.said.slice(3) }).toEqual({
      asked: expect.objectContaining(GRANTED),
      said: ["open", "row ends", "ask asks again"],
    });
  });

  it("serves on when only the isolate stood still", async () => {
    await isolate.admitted("first");
    vi.setSystemTime(Date.now() + 3_500);
    await isolate.admitted("before its timers run");
    await pass(100);
    await isolate.admitted("after");
    await pass(3_000);
    expect(isolate.said).toEqual(["open", "ask first", "ask before its timers run", "ask after"]);
  });

  it("opens another session when one is lost, and says which requests wait and run", async () => {
    await isolate.admitted("runs");
    const { decision } = await isolate.waiting("waits");
    isolate.loseSession();
    await pass(0);
    isolate.push([["waits", GRANTED]]);
    await pass(0);
    expect({ decision: decision.now, member: isolate.members[1], said: isolate.said.slice(3) }).toEqual({
      decision: GRANTED,
      member: { member: "isolate", waiting: ["waits"], running: ["runs"], others: [] },
      said: ["close", "open"],
    });
  });

  it("is followed by another request after 4 s without its own, and by none while that continues", async () => {
    const holds = await isolate.admitted("holds");
    await isolate.admitted("runs");
    await pass(60_000);
    expect(isolate.said.slice(3)).toEqual([]);
    void isolate.as("holds", async () => await holds.settle(end("holds")));
    await pass(3_900);
    expect(isolate.said.slice(3)).toEqual(["row holds"]);
    await pass(1_100);
    expect(isolate.said.slice(4)).toEqual(["open", "close"]);
    isolate.cutOff("holds");
    await pass(60_000);
    expect(isolate.said.slice(6)).toEqual([]);
  });

  it("that has made all its calls is followed by another request", async () => {
    await isolate.admitted("holds");
    await isolate.admitted("runs");
    for (let call = 0; call < 500; call += 1) {
      isolate.push();
      await pass(0);
    }
    expect(isolate.said.slice(3)).toEqual([]);
    await pass(1_000);
    expect({ said: isolate.said.slice(3), open: isolate.members.length }).toEqual({ said: ["open", "close"], open: 2 });
  });
});

describe("a Cell that is away", () => {
  it.each([
    ["at once", {}, 1],
    ["after one more attempt when that can help", { retryable: true }, 2],
    ["at once when it has too much to do", { retryable: true, overloaded: true }, 1],
  ])("is told to those who ask %s, with one alert and one line", async (_, flags, calls) => {
    isolate.opens = refused(flags);
    const asked = ["one", "two"].map((id) => outcome(isolate.admit(id)));
    await pass(0);
    expect({ asked: asked.map(({ now }) => now), calls: isolate.calls, alerts: isolate.alerts }).toEqual({
      asked: [UNAVAILABLE, UNAVAILABLE],
      calls,
      alerts: ["scheduler_unavailable"],
    });
    expect(isolate.events.filter((name) => name === "scheduler_unavailable")).toHaveLength(1);
    const again = outcome(isolate.admit("one", { waitedMs: 100, again: true }));
    await pass(200);
    expect({ again: again.now, alertCount: isolate.alerts.length }).toEqual({ again: UNAVAILABLE, alertCount: 1 });
    const another = outcome(isolate.admit("three"));
    await pass(200);
    expect({ another: another.now, alertCount: isolate.alerts.length }).toEqual({
      another: UNAVAILABLE,
      alertCount: 2,
    });
  });

  it("is told after five seconds to those who ask when it is silent", async () => {
    isolate.opens = never;
    const asked = outcome(isolate.admit("one"));
    await pass(4_999);
    expect(asked.now).toBe("waits");
    await pass(1);
    expect(asked.now).toEqual(UNAVAILABLE);
  });

  it.each([
    ["five seconds", undefined, 5_000],
    ["the lease, if that is longer", 25_000, 25_000],
    ["five seconds, though the lease is shorter", 2_000, 5_000],
  ])("is told to a request that waits after %s, with an alert", async (_, leaseMs, toldMs) => {
    isolate = new PlayedIsolate(leaseMs);
    await isolate.admitted("runs");
    const { decision } = await isolate.waiting("waits");
    isolate.opens = refused();
    isolate.loseSession();
    await pass(toldMs - 10);
    expect({ decision: decision.now, alerts: isolate.alerts }).toEqual({
      decision: "waits",
      alerts: ["scheduler_unavailable"],
    });
    await pass(1_400);
    expect(decision.now).toEqual(UNAVAILABLE);
    isolate.opens = async () => undefined;
    await pass(1_400);
    const { waiting, running } = isolate.members.at(-1) ?? { waiting: [], running: [] };
    expect({ waiting, running, said: isolate.said.slice(3) }).toEqual({
      waiting: [],
      running: ["runs"],
      said: ["close", "open", "withdrawal waits"],
    });
  });

  it("is away for nobody while another holder has a session", async () => {
    await isolate.admitted("holds");
    await isolate.admitted("runs");
    for (let call = 0; call < 500; call += 1) {
      isolate.push();
      await pass(0);
    }
    isolate.opens = refused();
    const asked = outcome(isolate.admit("asks"));
    await pass(1_000);
    expect({ asked: asked.now, alerts: isolate.alerts }).toEqual({
      asked: expect.objectContaining(GRANTED),
      alerts: [],
    });
  });

  it("has its rows sent to the Ledger, again when the request that sends them is cut off", async () => {
    const [one, two] = [await isolate.admitted("one"), await isolate.admitted("two")];
    isolate.opens = refused();
    isolate.settles = refused();
    isolate.appends = never;
    isolate.loseSession();
    void isolate.as("one", async () => await one.settle(end("one")));
    await pass(300);
    expect(isolate.ledger).toEqual([]);
    isolate.cutOff("one");
    isolate.appends = async () => undefined;
    const settled = outcome(isolate.as("two", async () => await two.settle(end("two"))));
    await pass(2_500);
    expect({ ledger: isolate.ledger.toSorted(), settled: settled.now }).toEqual({
      ledger: ["one", "two"],
      settled: undefined,
    });
  });
});

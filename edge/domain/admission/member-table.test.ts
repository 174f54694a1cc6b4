import { describe, expect, it } from "vitest";
import { zeroUsageRow } from "../../../shared/usage-row.ts";
import { limitsWith } from "../../../test/harness/edge/budget/simulation.ts";
import type { ExchangeAnswer } from "./exchange-messages.ts";
import type { AdmissionRequest, Decision, Settlement } from "./rpc.ts";
import { SessionQueue } from "./session-queue.ts";

const GRANTED: Decision = { verdict: "granted", grant: { admission: "fast", queueWaitMs: 0, level: null } };
const SILENCE: ExchangeAnswer = { decided: [], hits: [], stored: [], refused: [] };

const askOf = (requestId: string): AdmissionRequest => ({
  requestId,
  tenant: { id: "t", name: "Acme", weight: 100, maxInFlight: null },
  group: { name: "default", weight: 100 },
  model: { name: "m", admissionWeight: 100, maxInFlight: null },
  costTokens: 10,
  revs: [],
  openUntilMs: null,
  waitedMs: null,
  row: zeroUsageRow(requestId, 0),
  limits: limitsWith({}),
  need: { bucketTokens: 10, termTokens: 10, nanoUsd: 0 },
  estimate: { inputTokens: 4, outputTokens: 6, costUsd: 0 },
});
const endOf = (requestId: string): Settlement => ({ row: zeroUsageRow(requestId, 0), actualTokens: 1 });
const idsOf = (rows: readonly { readonly row: { readonly request_id: string } }[]) =>
  rows.map(({ row }) => row.request_id);

/** A queue with a request that was granted. */
function withGranted(...ids: readonly string[]): SessionQueue {
  const queue = new SessionQueue();
  for (const id of ids) queue.request(askOf(id));
  queue.take();
  queue.applyAnswer({ ...SILENCE, decided: ids.map((id) => [id, GRANTED] as const) });
  return queue;
}

describe("what a session has to send", () => {
  it("keeps admission requests in order, sends each once, and is urgent while one waits", async () => {
    const queue = new SessionQueue();
    const answers = ["one", "two"].map(async (id) => await queue.request(askOf(id)).answer);
    expect(queue.isUrgent).toBe(true);
    const message = queue.take();
    expect(message?.asks.map(({ requestId }) => requestId)).toEqual(["one", "two"]);
    expect({ message: queue.take(), isUrgent: queue.isUrgent }).toEqual({ message: null, isUrgent: false });
    queue.applyAnswer({ ...SILENCE, decided: [["one", GRANTED]] }, message?.asks);
    expect(await Promise.all(answers)).toEqual([GRANTED, null]);
  });

  it("keeps a row until it is stored, or has gone another way", () => {
    const queue = withGranted("one", "two");
    expect({ one: queue.end(endOf("one")), two: queue.end(endOf("two")), twoAgain: queue.end(endOf("two")) }).toEqual({
      one: true,
      two: true,
      twoAgain: false,
    });
    queue.take();
    expect(queue.isEmpty).toBe(false);
    expect(idsOf(queue.applyAnswer({ ...SILENCE, stored: ["one"], refused: ["two"] }))).toEqual(["two"]);
    expect(queue.isEmpty).toBe(false);
    queue.rowSaved("two");
    expect(queue.isEmpty).toBe(true);
  });

  it("sends nothing more of a request that has a permit of its own", () => {
    const queue = withGranted("one");
    queue.leave("one");
    queue.depart("one");
    expect({ isEndSent: queue.end(endOf("one")), message: queue.take(), isEmpty: queue.isEmpty }).toEqual({
      isEndSent: false,
      message: null,
      isEmpty: true,
    });
  });

  it("sends no admission request that has gone another way", () => {
    const queue = new SessionQueue();
    queue.request(askOf("one"));
    queue.leave("one");
    expect(queue.take()).toBeNull();
  });

  it("keeps a waiting request open until it has its permit, so that the session continues", () => {
    const queue = new SessionQueue();
    queue.request(askOf("one"));
    queue.take();
    queue.applyAnswer({ ...SILENCE, decided: [["one", { verdict: "waiting" }]] });
    expect(queue.isEmpty).toBe(false);
    queue.leave("one");
    expect(queue.isEmpty).toBe(true);
  });

  it("delivers the decision of a waiting request, even if it overtakes the answer to wait", async () => {
    const queue = new SessionQueue();
    const [first, second] = [queue.request(askOf("first")), queue.request(askOf("second"))];
    const requests = queue.take()?.asks;
    queue.applyAnswer({ ...SILENCE, decided: [["second", GRANTED]] });
    const waits = ["first", "second"].map((id) => [id, { verdict: "waiting" }] as const);
    queue.applyAnswer({ ...SILENCE, decided: waits }, requests);
    queue.applyAnswer({ ...SILENCE, decided: [["first", { verdict: "stale", items: [] }]] });
    expect({ firstAnswer: await first.answer, secondAnswer: await second.answer }).toEqual({
      firstAnswer: { verdict: "waiting" },
      secondAnswer: GRANTED,
    });
    expect(await first.decision).toEqual({ verdict: "stale", items: [] });
    expect({ first: queue.end(endOf("first")), second: queue.end(endOf("second")) }).toEqual({
      first: true,
      second: true,
    });
  });

  it("ends the wait of requests when nothing more is decided, also of those that come later", async () => {
    const queue = new SessionQueue();
    const [first, second] = [queue.request(askOf("first")), queue.request(askOf("second"))];
    queue.applyAnswer({ ...SILENCE, decided: [["first", { verdict: "waiting" }]] });
    queue.stopDecisions();
    queue.applyAnswer({ ...SILENCE, decided: [["second", { verdict: "waiting" }]] });
    expect({
      firstDecision: await first.decision,
      answer: await second.answer,
      secondDecision: await second.decision,
    }).toEqual({ firstDecision: null, answer: { verdict: "waiting" }, secondDecision: null });
    queue.leave("first");
    queue.leave("second");
    expect(queue.isEmpty).toBe(true);
  });

  it("drops the row of an outdated hit, and keeps that of one that is sent", async () => {
    const queue = new SessionQueue();
    const hits = ["good", "old"].map(
      async (id) => await queue.hit({ revs: [], limits: null, row: zeroUsageRow(id, 0) }),
    );
    queue.take();
    queue.applyAnswer({
      ...SILENCE,
      hits: [
        ["good", { verdict: "current", level: null }],
        ["old", { verdict: "stale", items: [] }],
      ],
    });
    expect((await Promise.all(hits)).map((verdict) => verdict?.verdict)).toEqual(["current", "stale"]);
    expect(idsOf(queue.close())).toEqual(["good"]);
  });
});

describe("a session that is over", () => {
  it("answers requests that wait for a decision with null", async () => {
    const queue = new SessionQueue();
    const { answer, decision, lost } = queue.request(askOf("one"));
    queue.take();
    queue.applyAnswer({ ...SILENCE, decided: [["one", { verdict: "waiting" }]] });
    queue.close();
    expect({ answer: await answer, decision: await decision, lost: await lost }).toEqual({
      answer: { verdict: "waiting" },
      decision: null,
      lost: undefined,
    });
  });

  it("notifies waiting and running requests, and hands its rows back until they are safe", async () => {
    const queue = withGranted("ended");
    const running = queue.request(askOf("running"));
    const asking = queue.request(askOf("asking"));
    queue.applyAnswer({ ...SILENCE, decided: [["running", GRANTED]] });
    const hit = queue.hit({ revs: [], limits: null, row: zeroUsageRow("hit", 0) });
    queue.end(endOf("ended"));
    queue.record({ row: zeroUsageRow("refused", 0) });
    expect(idsOf(queue.close()).toSorted()).toEqual(["ended", "refused"]);
    await running.lost;
    expect({ runningAnswer: await running.answer, askingAnswer: await asking.answer, hit: await hit }).toEqual({
      runningAnswer: GRANTED,
      askingAnswer: null,
      hit: null,
    });
    expect({
      isEndSent: queue.end(endOf("running")),
      isRecordSent: queue.record({ row: zeroUsageRow("late", 0) }),
    }).toEqual({
      isEndSent: false,
      isRecordSent: false,
    });
    queue.rowSaved("ended");
    expect({ closedIds: idsOf(queue.close()), message: queue.take() }).toEqual({
      closedIds: ["refused"],
      message: null,
    });
  });
});

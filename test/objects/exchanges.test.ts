/**
 * Exchanges between a real Cell and its member, an isolate (docs/rules/admission.md#membership): which requests are granted slots,
 * what happens to requests when the Cell, the isolate or the session between them ends, and that every row is written once.
 */
import { describe, expect, it } from "vitest";
import { waitFor } from "../harness/wait-for.ts";
import { admissionRequestFor, rowFor, settlementFor } from "./admission-messages.ts";
import { NO_MESSAGE, ObjectIsolate } from "./exchange-isolate.ts";

let nextCell = 1;
async function isolateOf(maxInFlight: number): Promise<ObjectIsolate> {
  const isolate = new ObjectIsolate(`exchanges-${nextCell++}`);
  await isolate.stub.setCapacity(maxInFlight);
  return isolate;
}

/** What the rows of an isolate say of status and tokens, by request id; fails when a request has several. */
async function rowsById(isolate: ObjectIsolate, atLeast: number): Promise<Readonly<Record<string, unknown>>> {
  expect(await isolate.rowIds(atLeast)).toEqual(isolate.admitted.toSorted());
  const rows = await isolate.rows();
  return Object.fromEntries(rows.map((row) => [row["request_id"], [row["status_code"], row["total_tokens"]]]));
}

describe("requests of one isolate", () => {
  it("share one session from admission to end, hold slots meanwhile and leave one row each", async () => {
    const isolate = await isolateOf(10);
    const running = await isolate.young(5);
    await isolate.load(5);
    for (const one of running) await isolate.end(one);
    await isolate.load(0);
    expect(await isolate.rowIds()).toEqual(isolate.admitted.toSorted());
    expect(isolate.direct.opened).toHaveLength(1);
  });

  it("are granted slots in the order of their admission requests, and wait in the same session", async () => {
    const isolate = await isolateOf(2);
    const [first] = await isolate.young(1);
    if (first === undefined) throw new Error("nothing was granted");
    const asked = await Promise.all([isolate.admit(), isolate.admit(), isolate.admit()]);
    expect(asked.map(({ verdict }) => verdict)).toEqual(["granted", "waiting", "waiting"]);
    const [second, third, last] = asked;
    if (second?.verdict !== "granted" || third?.verdict !== "waiting" || last?.verdict !== "waiting")
      throw new Error("the order was another");
    await isolate.end(first);
    expect(await third.permit.decision()).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    await isolate.leave(last);
    await isolate.load(2);
    for (const one of [second, third]) await isolate.end(one);
    expect(await rowsById(isolate, 4)).toEqual({
      [first.request.requestId]: [200, 10],
      [second.request.requestId]: [200, 10],
      [third.request.requestId]: [200, 10],
      [last.request.requestId]: [499, 0],
    });
    expect(isolate.direct.opened).toHaveLength(1);
  });

  it("that run or wait for seconds make no calls of their own", async () => {
    // One tenant fills it: a larger cell would keep headroom.
    const slots = 39;
    const isolate = await isolateOf(slots);
    const running = await Promise.all(Array.from({ length: slots }, async () => await isolate.begin()));
    const waiting = await Promise.all(Array.from({ length: slots }, async () => await isolate.wait()));
    const before = isolate.direct.calls;
    await isolate.samples(2);
    expect({ calls: isolate.direct.calls - before, stats: await isolate.stub.stats() }).toMatchObject({
      calls: 0,
      stats: { in_flight: slots, queued: slots },
    });
    const granted = Promise.all(waiting.map(async ({ permit }) => await permit.decision()));
    await Promise.all(running.map(async (one) => await isolate.end(one)));
    expect(new Set((await granted).map(({ verdict }) => verdict))).toEqual(new Set(["granted"]));
    await Promise.all(waiting.map(async (one) => await isolate.end(one)));
    expect(await isolate.rowIds()).toEqual(isolate.admitted.toSorted());
    expect(isolate.direct.calls).toBeLessThan(0.5 * isolate.admitted.length);
  });

  it("that leave while they wait are waited for no longer", async () => {
    const isolate = await isolateOf(1);
    const [first] = await isolate.young(1);
    if (first === undefined) throw new Error("nothing was granted");
    const waiting = await isolate.wait();
    const decision = expect(waiting.permit.decision()).rejects.toThrow("the request has ended");
    await isolate.leave(waiting);
    await isolate.end(first);
    await decision;
    expect(await isolate.rowIds()).toEqual(isolate.admitted.toSorted());
  });

  it("that leave while a grant is on its way to them have used nothing", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(1);
    const [first] = await isolate.young(1);
    if (first === undefined) throw new Error("nothing was granted");
    const waiting = await isolate.wait();
    await isolate.end(first);
    await waiting.permit.decision();
    await isolate.leave(waiting);
    await isolate.load(0);
    const row = (await isolate.rows()).find((each) => each["request_id"] === waiting.request.requestId);
    expect(row).toMatchObject({ status_code: 499, total_tokens: 0, cost_usd: 0 });
  });

  it("learn of newer records with the next admission, and a stale answer takes no slot", async () => {
    const isolate = await isolateOf(10);
    const [first] = await isolate.young(1);
    if (first === undefined) throw new Error("nothing was granted");
    await isolate.stub.invalidate([{ kind: "key", id: "k1", rev: 6 }]);
    expect(await isolate.admit()).toMatchObject({ verdict: "stale", items: [{ kind: "key", id: "k1", rev: 6 }] });
    await isolate.load(1);
    await isolate.end(first);
    expect(await isolate.rowIds()).toEqual(isolate.admitted);
  });

  it("carry cache hits, and rows of requests without a slot, in their exchanges", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(10);
    const [first] = await isolate.young(1);
    if (first === undefined) throw new Error("nothing was granted");
    const [hit, stale, refused] = [rowFor("hit"), rowFor("stale"), rowFor("refused", { status_code: 400 })];
    const { revs } = first.request;
    expect(await isolate.admission.confirmHit({ revs, limits: first.request.limits, row: hit })).toMatchObject({
      newer: [],
    });
    await isolate.stub.invalidate([{ kind: "key", id: "k1", rev: 6 }]);
    expect((await isolate.admission.confirmHit({ revs, limits: null, row: stale })).newer).toHaveLength(1);
    await isolate.admission.record(refused);
    await isolate.end(first);
    expect(await isolate.rowIds()).toEqual([first.request.requestId, "hit", "refused"].toSorted());
    expect(isolate.direct.opened).toHaveLength(1);
  });

  it("that give up without an end are settled by the Cell at their estimate", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(1);
    const [first] = await isolate.young(1);
    first?.permit.leave();
    await isolate.load(0);
    await isolate.rowIds(1);
    expect(await isolate.rows()).toMatchObject([{ status_code: 499, total_tokens: 10, cost_usd: 0.5 }]);
  });

  it("give everything back when their session ends because it was not used for a while", async () => {
    const isolate = await isolateOf(10);
    for (const one of await isolate.young(3)) await isolate.end(one);
    await Promise.all(isolate.holders);
    for (const one of await isolate.young(2)) await isolate.end(one);
    expect(await isolate.rowIds()).toEqual(isolate.admitted.toSorted());
    expect(isolate.direct.opened).toHaveLength(2);
  });
});

describe("a session that breaks", () => {
  it("settles nobody: requests keep slots and places, and end with one row each", {
    tags: ["check"],
  }, async () => {
    const isolate = await isolateOf(3);
    const running = await isolate.young(3);
    const [next, last] = [await isolate.wait(), await isolate.wait()];
    for (let broken = 1; broken <= 5; broken += 1) {
      await isolate.breakSession();
      expect(await isolate.stub.stats()).toMatchObject({ in_flight: 3, queued: 2 });
      await waitFor(
        () => isolate.direct.opened.length,
        (opened) => opened > broken,
      );
    }
    // The grace of the first session would have ended long ago.
    await isolate.samples(2);
    await isolate.load(3, 2);
    for (const [at, one] of [next, last].entries()) {
      const granted = one.permit.decision();
      await isolate.end(running[at] as (typeof running)[number]);
      expect(await granted).toMatchObject({ verdict: "granted" });
      await isolate.load(3, 1 - at);
    }
    for (const one of [...running.slice(2), next, last]) await isolate.end(one);
    await isolate.load(0);
    const rows = await rowsById(isolate, 5);
    expect(Object.values(rows)).toEqual(Array(5).fill([200, 10]));
  });

  it("as its requests end loses no row and doubles none", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(20);
    const running = await isolate.young(20);
    const ended = running.map(async (one) => await isolate.end(one));
    await isolate.breakSession();
    await Promise.all(ended);
    await isolate.load(0);
    const rows = await rowsById(isolate, 20);
    expect(Object.values(rows)).toEqual(Array(20).fill([200, 10]));
  });
});

describe("an isolate that opens another session", () => {
  it("ends the earlier one, and keeps what it has; one that arrives late is refused", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(1);
    const { member } = isolate;
    const request = admissionRequestFor(crypto.randomUUID());
    const { requestId } = request;
    const before = await isolate.openAs({ member }, { asks: [request] });
    expect(before.answer.decided).toMatchObject([[requestId, { verdict: "granted" }]]);
    const after = await isolate.openAs({ member, running: [requestId] });
    await expect(before.session.exchange(NO_MESSAGE)).rejects.toThrow("the session is over");
    before.session[Symbol.dispose]();
    await expect(isolate.openAs({ member }, { n: 1 })).rejects.toThrow("the member has said more since");
    // A grace that began now would have ended.
    await isolate.samples(2);
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 1 });
    await after.session.exchange({ ...NO_MESSAGE, ends: [settlementFor(requestId)] });
    await isolate.load(0);
    await after.session.close();
    after.session[Symbol.dispose]();
    expect(await isolate.rows()).toMatchObject([{ request_id: requestId, status_code: 200, total_tokens: 10 }]);
  });
});

describe("an isolate that is gone", () => {
  it("gives its slots back, the waiting first, and leaves one row of each request", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(1);
    const [runs, waits] = [crypto.randomUUID(), crypto.randomUUID()];
    const asks = [admissionRequestFor(runs), admissionRequestFor(waits)];
    const { session, answer } = await isolate.openAs({ member: crypto.randomUUID() }, { asks });
    expect(answer.decided).toMatchObject([
      [runs, { verdict: "granted" }],
      [waits, { verdict: "waiting" }],
    ]);
    const next = await isolate.wait();
    const granted = next.permit.decision();
    session[Symbol.dispose]();
    expect(await granted).toMatchObject({ verdict: "granted" });
    await isolate.end(next);
    await isolate.rowIds(3);
    const rows = (await isolate.rows()).map((row) => [row["request_id"], [row["status_code"], row["total_tokens"]]]);
    expect({ count: rows.length, byId: Object.fromEntries(rows) }).toEqual({
      count: 3,
      byId: { [runs]: [499, 10], [waits]: [499, 0], [next.request.requestId]: [200, 10] },
    });
  });

  it("holds its slots for the grace only, and is counted again when it is back", {
    tags: ["check"],
  }, async () => {
    const isolate = await isolateOf(2);
    const running = await isolate.young(2);
    const other = new ObjectIsolate(isolate.cell);
    const taken = Promise.all([other.begin(), other.begin()]);
    await other.load(2, 2);
    await isolate.cutOff();
    const others = await taken;
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 2, queued: 0 });
    isolate.rejoin();
    await isolate.load(4);
    const late = await other.wait();
    for (const one of running) await isolate.end(one);
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 2, queued: 1 });
    for (const one of others) await other.end(one);
    await late.permit.decision();
    await other.end(late);
    await Promise.all(other.holders);
    const ids = [...isolate.admitted, ...other.admitted].toSorted();
    expect(await isolate.rowIds(ids.length)).toEqual(ids);
    expect((await isolate.rows()).map((row) => row["status_code"])).toEqual(Array(5).fill(200));
  });

  it("waits again when it is back, at its age", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(1);
    const other = new ObjectIsolate(isolate.cell);
    const held = await other.begin();
    const waiting = await isolate.wait();
    const decided = waiting.permit.decision();
    await isolate.cutOff();
    await isolate.load(1, 0);
    isolate.rejoin();
    await isolate.load(1, 1);
    await other.end(held);
    const decision = await decided;
    expect(decision).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    if (decision.verdict === "granted") expect(decision.grant.queueWaitMs).toBeGreaterThanOrEqual(2_000);
    await isolate.end(waiting);
    await Promise.all(other.holders);
    const ids = [...isolate.admitted, ...other.admitted].toSorted();
    expect(await isolate.rowIds(ids.length)).toEqual(ids);
  });
});

describe("a Cell that is reset", () => {
  it("counts the running requests again, and writes one row each, even if just ended", {
    tags: ["check"],
  }, async () => {
    const isolate = await isolateOf(4);
    const [first, ...others] = await isolate.young(4);
    if (first === undefined) throw new Error("nothing was granted");
    await isolate.end(first);
    await isolate.reset();
    await isolate.load(3);
    for (const one of others) await isolate.end(one);
    await isolate.load(0);
    expect(await isolate.rowIds()).toEqual(isolate.admitted.toSorted());
  });

  it("counts them before it grants a slot to another isolate, again and again", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(2);
    const running = await isolate.young(2);
    const other = new ObjectIsolate(isolate.cell);
    for (let reset = 0; reset < 3; reset += 1) {
      await isolate.reset();
      const asked = await other.wait();
      await isolate.load(2, 1);
      await other.leave(asked);
      await isolate.load(2);
    }
    for (const one of running) await isolate.end(one);
    await Promise.all(other.holders);
    const ids = [...isolate.admitted, ...other.admitted].toSorted();
    expect(await isolate.rowIds(ids.length)).toEqual(ids);
  });

  it("answers admission requests that it lost, when they arrive again", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(10);
    const [first] = await isolate.young(1);
    if (first === undefined) throw new Error("nothing was granted");
    const asking = Promise.all(Array.from({ length: 4 }, async () => await isolate.begin()));
    await isolate.reset();
    for (const one of await asking) await isolate.end(one);
    await isolate.end(first);
    await isolate.load(0);
    expect(await isolate.rowIds()).toEqual(isolate.admitted.toSorted());
  });

  it("has waiting requests checked again", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(1);
    await isolate.young(1);
    const waiting = await isolate.wait();
    const decided = waiting.permit.decision();
    await isolate.reset();
    expect(await decided).toEqual({ verdict: "stale", items: [] });
  });
});

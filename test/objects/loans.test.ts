/**
 * Loans between a real Cell and an isolate (design §12): who is lent what is told and written down as if the Cell had been
 * asked, comes back when it is called in, and is nobody's any more when either side is gone.
 */
import { describe, expect, it } from "vitest";
import { waitFor } from "../harness/wait-for.ts";
import { askFor } from "./asks.ts";
import { Isolate, type Running } from "./loan-isolate.ts";

let nextCell = 1;
async function isolateOf(maxInFlight: number): Promise<Isolate> {
  const isolate = new Isolate(`loans-${nextCell++}`);
  await isolate.stub.setCapacity(maxInFlight);
  return isolate;
}

/** Takes so many lent slots; fails when they are not there. */
function takeAll(isolate: Isolate, count: number): Running[] {
  return Array.from({ length: count }, () => {
    const one = isolate.take();
    if (one === null) throw new Error("there is no lent slot");
    return one;
  });
}

describe("an isolate whose requests come often", () => {
  it("takes its slots without a call, counts in the Cell, and leaves one row of each request", async () => {
    const isolate = await isolateOf(100);
    await isolate.warm(4);
    const running = takeAll(isolate, 4);
    await isolate.inFlight(4);
    for (const one of running) await isolate.end(one);
    await isolate.inFlight(0);
    expect((await isolate.rows()).toSorted()).toEqual(isolate.admitted.toSorted());
    expect(isolate.events).toEqual([]);
  });

  it("gives everything back when its requests no longer come", async () => {
    const isolate = await isolateOf(8);
    await isolate.warm(2);
    await Promise.all(isolate.sessions);
    const running = await Promise.all(Array.from({ length: 8 }, async () => await isolate.begin()));
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 8, queued: 0 });
    expect(running.map(({ lent }) => lent)).toEqual(Array(8).fill(false));
    for (const one of running) await isolate.end(one);
    expect((await isolate.rows()).toSorted()).toEqual(isolate.admitted.toSorted());
  });

  it("is carried on by another request when the first has carried for long", async () => {
    const isolate = await isolateOf(100);
    await isolate.warm(2);
    const [first] = isolate.sessions;
    // A carrier that is not heard of for long by this clock is taken to be cut off.
    while (isolate.aheadMs < 3_000) {
      isolate.aheadMs += 250;
      await isolate.warm(2);
      await isolate.inFlight(0);
    }
    await first;
    expect(isolate.sessions.length).toBeGreaterThan(1);
    expect((await isolate.rows()).toSorted()).toEqual(isolate.admitted.toSorted());
    expect(isolate.events).toEqual([]);
  });
});

describe("a request on a lent slot", () => {
  it("that gives up without a word is settled by the Cell, and its slot lent again", async () => {
    const isolate = await isolateOf(100);
    await isolate.warm(1);
    const [one] = takeAll(isolate, 1);
    await isolate.inFlight(1);
    one?.permit[Symbol.dispose]();
    await isolate.inFlight(0);
    expect((await isolate.rows()).toSorted()).toEqual(isolate.admitted.toSorted());
  });

  it("that gets a permit of its own is counted once, and outlives its session", async () => {
    const isolate = await isolateOf(100);
    await isolate.warm(1);
    const [one] = takeAll(isolate, 1);
    if (one === undefined) throw new Error("nothing was lent");
    await expect(one.permit.lost()).rejects.toThrow();
    const permit = await isolate.admission.adopt(one.ask);
    await Promise.all(isolate.sessions);
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 1 });
    await isolate.end({ ...one, permit });
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 0 });
    expect((await isolate.rows()).toSorted()).toEqual(isolate.admitted.toSorted());
  });
});

describe("loans", () => {
  it("are let go of before the change of a record that they are built on is acknowledged", async () => {
    const isolate = await isolateOf(100);
    await isolate.warm(2);
    await isolate.stub.invalidate([{ kind: "key", id: "k1", rev: 6 }]);
    expect(isolate.take()).toBeNull();
    expect(await isolate.stub.admit(askFor(crypto.randomUUID()))).toMatchObject({ verdict: "stale" });
    await isolate.warm(2, { revs: [{ kind: "key", id: "k1", rev: 6 }] });
  });

  it("are called in for those who wait for a slot", async () => {
    const isolate = await isolateOf(8);
    await isolate.warm(2);
    const asks = Array.from({ length: 8 }, () => askFor(crypto.randomUUID(), { tenant: OTHER_TENANT }));
    const others = new Isolate(isolate.cell);
    const running = await Promise.all(asks.map(async ({ tenant }) => await others.begin({ tenant })));
    await isolate.inFlight(8);
    for (const one of running) await others.end(one);
    await isolate.inFlight(0);
  });
});

const OTHER_TENANT = { id: "t2", name: "Other", weight: 100, maxInFlight: null };

describe("a Cell that is reset with loans out", () => {
  it("loses no row and doubles none: of requests that ended before, and of those that end after", async () => {
    const isolate = await isolateOf(100);
    await isolate.warm(4);
    const [first, second, ...rest] = takeAll(isolate, 4);
    if (first === undefined || second === undefined) throw new Error("nothing was lent");
    await isolate.end(first);
    await isolate.reset();
    await isolate.end(second);
    await waitFor(
      () => isolate.take(),
      (taken) => {
        if (taken !== null) rest.push(taken);
        return taken === null;
      },
    );
    for (const one of rest) await isolate.end(one);
    expect((await isolate.rows()).toSorted()).toEqual(isolate.admitted.toSorted());
    expect(isolate.events).toContain("loan_session_lost");
  });
});

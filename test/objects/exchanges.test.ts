/**
 * Exchanges between a real Cell and an isolate (docs/rules/admission.md#exchanges): which requests are granted slots,
 * what happens to requests when the Cell or the isolate ends, and that every row is written once.
 */
import { describe, expect, it } from "vitest";
import { waitFor } from "../harness/wait-for.ts";
import { admissionRequestFor, rowFor } from "./admission-messages.ts";
import { ObjectIsolate } from "./exchange-isolate.ts";

let nextCell = 1;
async function isolateOf(maxInFlight: number): Promise<ObjectIsolate> {
  const isolate = new ObjectIsolate(`exchanges-${nextCell++}`);
  await isolate.stub.setCapacity(maxInFlight);
  return isolate;
}

describe("requests of one isolate", () => {
  it("share one session from admission to end, hold slots meanwhile and leave one row each", async () => {
    const isolate = await isolateOf(10);
    const running = await isolate.young(5);
    await isolate.load(5);
    for (const one of running) await isolate.end(one);
    await isolate.load(0);
    expect(await isolate.rowIds()).toEqual(isolate.admitted.toSorted());
    expect({ openedCount: isolate.direct.opened.length, calls: isolate.direct.calls }).toEqual({
      openedCount: 1,
      calls: [],
    });
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
    expect(await isolate.rowIds()).toEqual(isolate.admitted.toSorted());
    expect({ openedCount: isolate.direct.opened.length, calls: isolate.direct.calls }).toEqual({
      openedCount: 1,
      calls: [],
    });
  });

  it("take permits of their own when they wait for long, and leave their places in time", async () => {
    const isolate = await isolateOf(1);
    const [first] = await isolate.young(1);
    const [second, third] = [await isolate.admit(), await isolate.admit()];
    if (first === undefined || second.verdict !== "waiting" || third.verdict !== "waiting")
      throw new Error("no request waits");
    const left = second.permit.decision();
    const decision = third.permit.decision();
    await waitFor(
      () => isolate.direct.calls.length,
      (calls) => calls === 2,
    );
    expect(isolate.direct.calls).toEqual(["hold", "hold"]);
    await isolate.leave(second);
    await isolate.end(first);
    expect(await decision).toMatchObject({ verdict: "granted" });
    expect(await left).toEqual({ verdict: "stale", items: [] });
    await isolate.end(third);
    await isolate.load(0);
    const rows = await isolate.rows();
    expect(new Map(rows.map((row) => [row["request_id"], [row["status_code"], row["total_tokens"]]]))).toEqual(
      new Map([
        [first.request.requestId, [200, 10]],
        [second.request.requestId, [499, 0]],
        [third.request.requestId, [200, 10]],
      ]),
    );
    expect(rows).toHaveLength(3);
  });

  it("that leave while a grant is on its way to them have used nothing", async () => {
    const isolate = await isolateOf(1);
    const [first] = await isolate.young(1);
    const waiting = await isolate.admit();
    if (first === undefined || waiting.verdict !== "waiting") throw new Error("no request waits");
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

  it("carry cache hits, and rows of requests without a permit, in their exchanges", async () => {
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

  it("that end without a settlement are settled by the Cell at their estimate", async () => {
    const isolate = await isolateOf(1);
    const [first] = await isolate.young(1);
    first?.permit[Symbol.dispose]();
    await isolate.load(0);
    expect(await isolate.rows()).toMatchObject([{ status_code: 499, total_tokens: 10, cost_usd: 0.5 }]);
  });

  it("give everything back when their session ends because it was not used for a while", async () => {
    const isolate = await isolateOf(10);
    for (const one of await isolate.young(3)) await isolate.end(one);
    await Promise.all(isolate.sessions);
    for (const one of await isolate.young(2)) await isolate.end(one);
    expect(await isolate.rowIds()).toEqual(isolate.admitted.toSorted());
    expect(isolate.direct.opened).toHaveLength(2);
  });
});

describe("a session that breaks", () => {
  it("gives its slots back and leaves one row of each request, at its estimate", async () => {
    const isolate = await isolateOf(3);
    await isolate.young(3);
    await isolate.breakSession();
    await isolate.load(0);
    expect(await isolate.rowIds(3)).toEqual(isolate.admitted.toSorted());
    expect((await isolate.rows()).map((row) => [row["status_code"], row["total_tokens"]])).toEqual(
      Array(3).fill([499, 10]),
    );
  });

  it("lets its requests continue under their own permits, counted again, with one row each", async () => {
    const isolate = await isolateOf(3);
    const running = await isolate.young(3);
    await isolate.breakSession();
    await Promise.all(running.map(async ({ sessionLost }) => await sessionLost));
    const adopted = await Promise.all(
      running.map(async ({ request }) => ({ request, permit: await isolate.admission.adopt(request) })),
    );
    await isolate.load(3);
    for (const one of adopted) await isolate.end(one);
    await isolate.load(0);
    expect(await isolate.rowIds()).toEqual(isolate.admitted.toSorted());
  });

  it("takes nothing from a request that has a permit of its own", async () => {
    const isolate = await isolateOf(3);
    const [first, ...others] = await isolate.young(3);
    if (first === undefined) throw new Error("nothing was granted");
    const permit = await isolate.admission.adopt(first.request);
    await isolate.load(3);
    for (const one of others) await isolate.end(one);
    await isolate.load(1);
    await isolate.breakSession();
    await Promise.all(isolate.sessions);
    await isolate.load(1);
    await isolate.end({ request: first.request, permit });
    expect((await isolate.rows()).map((row) => row["status_code"])).toEqual([200, 200, 200]);
  });

  it("ends with the context that holds it: what it holds comes back, and is settled once", async () => {
    const isolate = await isolateOf(1);
    const request = admissionRequestFor(crypto.randomUUID());
    const message = { ends: [], departures: [], records: [], hits: [], asks: [request] };
    const { session, answer } = await isolate.direct.openSession(message);
    expect(answer.decided).toMatchObject([[request.requestId, { verdict: "granted" }]]);
    await isolate.load(1);
    session[Symbol.dispose]();
    await isolate.load(0);
    await isolate.rowIds(1);
    expect(await isolate.rows()).toMatchObject([{ request_id: request.requestId, status_code: 499, total_tokens: 10 }]);
  });

  it("leaves a waiting request its place in the queue", async () => {
    const isolate = await isolateOf(1);
    const [first] = await isolate.young(1);
    const waiting = await isolate.admit();
    if (first === undefined || waiting.verdict !== "waiting") throw new Error("no request waits");
    await isolate.breakSession();
    expect(await waiting.permit.decision()).toMatchObject({ verdict: "granted" });
    await isolate.end(waiting);
    expect(await isolate.rowIds(2)).toEqual(isolate.admitted.toSorted());
  });
});

describe("a Cell that is reset", () => {
  it("counts requests of the session as they adopt, and writes one row each, even if just ended", async () => {
    const isolate = await isolateOf(4);
    const [first, ...others] = await isolate.young(4);
    if (first === undefined) throw new Error("nothing was granted");
    await isolate.end(first);
    await isolate.reset();
    await Promise.all(others.map(async ({ sessionLost }) => await sessionLost));
    const adopted = await Promise.all(
      others.map(async ({ request }) => ({ request, permit: await isolate.admission.adopt(request) })),
    );
    await isolate.load(3);
    for (const one of adopted) await isolate.end(one);
    expect(await isolate.rowIds()).toEqual(isolate.admitted.toSorted());
  });

  it("answers admission requests that it lost when they arrive by another call", async () => {
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
});

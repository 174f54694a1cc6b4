/**
 * The Cell object inside the runtime: slots and places of a member, settlements that become rows, and what survives a restart.
 */
import { abortAllDurableObjects, evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { AdmissionRequest } from "../../edge/domain/admission/rpc.ts";
import { waitFor } from "../harness/wait-for.ts";
import { admissionRequestFor, rowFor, settlementFor } from "./admission-messages.ts";
import { NO_MESSAGE, ObjectIsolate } from "./exchange-isolate.ts";
import { rowsOnDisk } from "./ledger-world.ts";

let nextCell = 1;
async function isolateOf(maxInFlight: number): Promise<ObjectIsolate> {
  const isolate = new ObjectIsolate(`cell-${nextCell++}`);
  await isolate.stub.setCapacity(maxInFlight);
  return isolate;
}

const id = (): string => crypto.randomUUID();

describe("Cell", () => {
  it("grants up to its cap, then the next one in turn when a request ends", async () => {
    const isolate = await isolateOf(1);
    const { cell, stub } = isolate;
    const [one, two] = [await isolate.begin(), await isolate.wait()];
    expect(await stub.stats()).toEqual({ cell, in_flight: 1, queued: 1, max_in_flight: 1 });
    const granted = two.permit.decision();
    await isolate.end(one);
    expect(await granted).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    await isolate.end(two);
    expect(await stub.stats()).toMatchObject({ in_flight: 0, queued: 0 });
    expect((await rowsOnDisk(cell)).map((row) => [row["request_id"], row["admission"], row["cell"]])).toEqual([
      [one.request.requestId, "fast", cell],
      [two.request.requestId, "queued", cell],
    ]);
  });

  it("has the row of a settlement on disk before it acknowledges it, and only once", async () => {
    const isolate = await isolateOf(2);
    const { request, permit } = await isolate.begin();
    const { requestId } = request;
    await permit.settle(settlementFor(requestId, 3));
    expect((await rowsOnDisk(isolate.cell)).map((row) => row["total_tokens"])).toEqual([3]);
    await permit.settle(settlementFor(requestId, 4));
    permit.leave();
    await isolate.stub.settleOrphan(settlementFor(requestId, 3).row);
    expect((await rowsOnDisk(isolate.cell)).map((row) => row["total_tokens"])).toEqual([3]);
  });

  it("frees the slot of a request that gives up at once, and bills those that ran at the estimate", async () => {
    const isolate = await isolateOf(1);
    const [runs, next, waits] = [await isolate.begin(), await isolate.wait(), await isolate.wait()];
    const granted = next.permit.decision();
    waits.permit.leave();
    runs.permit.leave();
    expect(await granted).toMatchObject({ verdict: "granted" });
    next.permit.leave();
    await isolate.load(0);
    const rows = await waitFor(
      () => rowsOnDisk(isolate.cell),
      (found) => found.length === 3,
    );
    const written = rows.map((row) => [row["request_id"], row["status_code"], row["total_tokens"], row["cost_usd"]]);
    expect(new Set(written)).toEqual(
      new Set([
        [runs.request.requestId, 499, 10, 0.5],
        [next.request.requestId, 499, 10, 0.5],
        [waits.request.requestId, 499, 0, 0],
      ]),
    );
  });

  it("gives a sub-call no slot, and the row of one whose Worker died also over a reset", {
    tags: ["check"],
  }, async () => {
    const isolate = await isolateOf(1);
    const subCall = (requestId: string): AdmissionRequest =>
      admissionRequestFor(requestId, { row: rowFor(requestId, { status_code: 499, admission: "boon" }) });
    await isolate.begin();
    await isolate.wait();
    const dies = await isolate.begin(subCall(id()));
    const lasts = await isolate.begin(subCall(id()));
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 1, queued: 1 });
    dies.permit.leave();
    const rowsOf = async ({ request }: typeof dies) =>
      (await rowsOnDisk(isolate.cell)).filter((row) => row["request_id"] === request.requestId);
    const lost = await waitFor(
      async () => await rowsOf(dies),
      ({ length }) => length > 0,
    );
    expect(lost).toMatchObject([{ admission: "boon", total_tokens: 10 }]);
    await abortAllDurableObjects();
    await isolate.load(1);
    const { row } = settlementFor(lasts.request.requestId, 9);
    await isolate.end(lasts, { row: { ...row, admission: "boon" }, actualTokens: 9 });
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 1 });
    expect(await rowsOf(lasts)).toMatchObject([{ admission: "boon", total_tokens: 9, queue_wait_ms: 0 }]);
  });

  it("gives back the place of a waiting request that leaves, and grants the next", async () => {
    const isolate = await isolateOf(1);
    const [first, leaver, last] = [await isolate.begin(), await isolate.wait(), await isolate.wait()];
    leaver.permit.leave();
    await isolate.load(1, 1);
    const granted = last.permit.decision();
    await isolate.end(first);
    expect(await granted).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    await isolate.end(last);
  });

  it("repeats its answer to a repeated request, and queues one that returns its grant", {
    tags: ["check"],
  }, async () => {
    const isolate = await isolateOf(1);
    const one = await isolate.begin();
    const { requestId } = one.request;
    await isolate.begin({ requestId, waitedMs: 0 });
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 1, queued: 0 });
    const other = await isolate.wait();
    const granted = other.permit.decision();
    const anew = await isolate.wait({ requestId, waitedMs: 0, anew: true });
    expect(await granted).toMatchObject({ verdict: "granted" });
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 1, queued: 1 });
    const again = anew.permit.decision();
    await isolate.end(other);
    expect(await again).toMatchObject({ verdict: "granted" });
    await isolate.end(anew, settlementFor(requestId, 7));
    await isolate.load(0);
    const rows = (await rowsOnDisk(isolate.cell)).filter((row) => row["request_id"] === requestId);
    expect(rows.map((row) => row["total_tokens"])).toEqual([7]);
  });

  it("writes one row when a settlement arrives by another way than its session", async () => {
    const isolate = await isolateOf(1);
    const { request, permit } = await isolate.begin();
    const settlement = settlementFor(request.requestId, 5);
    await isolate.stub.settleOrphan(settlement.row);
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 0 });
    await permit.settle(settlement);
    const marker = id();
    await isolate.stub.record(rowFor(marker));
    await isolate.stub.settleOrphan(settlement.row);
    expect((await rowsOnDisk(isolate.cell)).map((row) => row["request_id"])).toEqual([request.requestId, marker]);
  });

  it("answers stale to an admission request from an older record, also after a restart", async () => {
    const isolate = await isolateOf(1);
    await isolate.stub.invalidate([{ kind: "key", id: "k1", rev: 6 }]);
    const stale = { verdict: "stale", items: [{ kind: "key", id: "k1", rev: 6 }] };
    expect(await isolate.admit()).toMatchObject(stale);
    await Promise.all(isolate.holders);
    await evictDurableObject(isolate.stub);
    expect(await isolate.admit()).toMatchObject(stale);
    await isolate.end(await isolate.begin({ revs: [{ kind: "key", id: "k1", rev: 6 }] }));
  });

  it("returns a waiting request as stale at its turn and keeps its place", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(1);
    const other = { tenant: { id: "t2", name: "Other", weight: 100, maxInFlight: null }, revs: [] };
    const [holder, waits, last] = [await isolate.begin(other), await isolate.wait(), await isolate.wait(other)];
    const item = { kind: "key" as const, id: "k1", rev: 6 };
    await isolate.stub.invalidate([item]);
    const [decided, granted] = [waits.permit.decision(), last.permit.decision()];
    await isolate.end(holder);
    expect(await decided).toEqual({ verdict: "stale", items: [item] });
    expect(await granted).toMatchObject({ verdict: "granted" });
    const { requestId } = waits.request;
    expect(await isolate.admit({ requestId, waitedMs: 3 })).toMatchObject({ verdict: "stale", items: [item] });
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 1, queued: 1 });
    const again = await isolate.wait({ requestId, revs: [item], waitedMs: 5 });
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 1, queued: 1 });
    const decision = again.permit.decision();
    await isolate.end(last);
    expect(await decision).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    await isolate.end(again);
  });

  it("has a waiting request checked again after a reset, and queues it at its age", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(1);
    const item = { kind: "key" as const, id: "k1", rev: 6 };
    await isolate.stub.invalidate([item]);
    const holder = await isolate.begin({ revs: [item] });
    const waits = await isolate.wait({ revs: [item] });
    const decided = waits.permit.decision();
    await abortAllDurableObjects();
    expect(await decided).toEqual({ verdict: "stale", items: [] });
    const { requestId } = waits.request;
    expect(await isolate.admit({ requestId, waitedMs: 0 })).toMatchObject({ verdict: "stale", items: [item] });
    const again = await isolate.wait({ requestId, revs: [item], waitedMs: 60_000 });
    const granted = again.permit.decision();
    await isolate.end(holder);
    const decision = await granted;
    expect(decision).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    if (decision.verdict === "granted") expect(decision.grant.queueWaitMs).toBeGreaterThanOrEqual(60_000);
    await isolate.end(again);
  });

  it("applies a newer cap to waiting requests, and no older one, also after a restart", {
    tags: ["check"],
  }, async () => {
    const isolate = await isolateOf(5);
    const { stub } = isolate;
    const cap = (rev: number, max_in_flight: number) => [
      { kind: "model" as const, id: "m1", rev, model: { max_in_flight, admission_weight: 100, adaptive: null } },
    ];
    await stub.invalidate(cap(9, 1));
    await evictDurableObject(stub);
    const capped = { model: { name: "m1", admissionWeight: 100, maxInFlight: 1 } };
    const [one, two] = [await isolate.begin(capped), await isolate.wait(capped)];
    await stub.invalidate(cap(8, 5));
    expect(await stub.stats()).toMatchObject({ in_flight: 1, queued: 1 });
    await stub.invalidate(cap(10, 2));
    expect(await stub.stats()).toMatchObject({ in_flight: 2, queued: 0 });
    for (const request of [one, two]) await isolate.end(request);
  });

  it("keeps a capacity set by an admin through a restart, and returns to the configured one", {
    tags: ["check"],
  }, async () => {
    const { stub } = await isolateOf(3);
    await evictDurableObject(stub);
    expect(await stub.stats()).toMatchObject({ max_in_flight: 3 });
    expect(await stub.setCapacity(null)).toMatchObject({ max_in_flight: 256 });
  });

  it("reports its end, then counts the running requests before it grants, even above the cap", {
    tags: ["check"],
  }, async () => {
    const isolate = await isolateOf(1);
    const running = [await isolate.begin()];
    await isolate.stub.setCapacity(2);
    running.push(await isolate.begin());
    await isolate.stub.setCapacity(1);
    await abortAllDurableObjects();
    const late = await new ObjectIsolate(isolate.cell).wait();
    await isolate.load(2, 1);
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 2, queued: 1, max_in_flight: 1 });
    const granted = late.permit.decision();
    for (const one of running) await isolate.end(one);
    expect(await granted).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    await late.permit.settle(settlementFor(late.request.requestId));
    expect((await rowsOnDisk(isolate.cell)).map((row) => row["status_code"])).toEqual([200, 200, 200]);
  });

  it("tells a member which of its running requests it does not know", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(1);
    const { session, answer } = await isolate.openAs({
      member: isolate.member,
      waiting: ["waits"],
      running: ["runs"],
    });
    expect(answer).toMatchObject({ unknown: ["runs"], decided: [["waits", { verdict: "stale", items: [] }]] });
    const returns = [admissionRequestFor("runs", { waitedMs: 0 })];
    await session.exchange({ ...NO_MESSAGE, returns });
    await session.exchange({ ...NO_MESSAGE, returns });
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 1, queued: 0 });
    await session.exchange({ ...NO_MESSAGE, ends: [settlementFor("runs")] });
    await session.exchange({ ...NO_MESSAGE, returns });
    expect(await isolate.stub.stats()).toMatchObject({ in_flight: 0, queued: 0 });
    await session.close();
    await expect(session.exchange(NO_MESSAGE)).rejects.toThrow("the session is over");
    session[Symbol.dispose]();
  });

  it("shows which requests hold slots and which wait, now and over the last hour", { tags: ["check"] }, async () => {
    const isolate = await isolateOf(1);
    const { stub } = isolate;
    const [one, two] = [await isolate.begin(), await isolate.wait()];
    const live = await stub.fairshareLive();
    expect({ inFlight: live.inFlight, queued: live.queued, name: live.tenants[0]?.name }).toEqual({
      inFlight: 1,
      queued: 1,
      name: "Acme",
    });
    expect(live.waiting).toMatchObject([{ tenant: "Acme", queued: 1, reason: "cell_full" }]);
    expect((await stub.fairshareHistory(0))[0]?.tenants).toEqual([
      { tenant_id: "t1", name: "Acme", in_flight: 1, queued: 0 },
    ]);
    await isolate.leave(two);
    await isolate.end(one);
  });

  it("bounds the rows of unauthenticated refusals and counts them all", { tags: ["check"] }, async () => {
    const { cell, stub } = await isolateOf(1);
    const refusal = () =>
      rowFor(id(), { tenant_id: "00000000-0000-0000-0000-000000000000", admission: "rejected", status_code: 401 });
    const secondNow = (): number => Math.floor(Date.now() / 1000);
    const began = secondNow();
    await Promise.all(Array.from({ length: 150 }, () => stub.record(refusal())));
    // The bound applies to each second into which the requests have fallen.
    expect((await rowsOnDisk(cell)).length).toBeLessThanOrEqual(50 * (secondNow() - began + 1));
    const { families } = await stub.metrics();
    const requests = families.find((family) => family.name === "gateway_requests_total")?.samples ?? [];
    expect(requests.length).toBe(20);
    expect(requests.filter((sample) => sample.value > 0)).toEqual([
      { suffix: "", labels: { admission: "rejected", status: "4xx" }, value: 150 },
    ]);
  });
});

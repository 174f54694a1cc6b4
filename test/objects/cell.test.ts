/**
 * The Cell object inside the runtime: permits as capabilities, settlements that become rows, and what survives a restart.
 */
import { abortAllDurableObjects, env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { AdmissionRequest, PermitHandle } from "../../edge/domain/admission/rpc.ts";
import type { CellObject } from "../../edge/objects/cell/cell.ts";
import type { LedgerObject } from "../../edge/objects/ledger/ledger.ts";
import { waitFor } from "../harness/wait-for.ts";
import { admissionRequestFor, rowFor, settlementFor } from "./admission-messages.ts";

const bindings = env as unknown as {
  CELL: DurableObjectNamespace<CellObject>;
  LEDGER: DurableObjectNamespace<LedgerObject>;
};

type Stub = DurableObjectStub<CellObject>;

interface Place {
  readonly name: string;
  readonly stub: Stub;
}

let nextCell = 1;
async function cellOf(maxInFlight: number): Promise<Place> {
  const name = `cell-${nextCell++}`;
  const stub = bindings.CELL.getByName(name);
  await stub.setCapacity(maxInFlight);
  return { name, stub };
}

async function admit(stub: Stub, request: AdmissionRequest): Promise<{ verdict: string; permit: PermitHandle }> {
  const answer = await stub.admit(request);
  if (answer.verdict === "stale") throw new Error("stale");
  return answer as unknown as { verdict: string; permit: PermitHandle };
}

/** The rows on the disk of the cell's Ledger, in order. */
async function rowsOf(name: string): Promise<Record<string, unknown>[]> {
  return await runInDurableObject(bindings.LEDGER.getByName(`${name}:0`), (_ledger, state) =>
    state.storage.sql
      .exec<{ lines: string }>("SELECT lines FROM commits ORDER BY id")
      .toArray()
      .flatMap((entry) => entry.lines.split("\n").map((line) => JSON.parse(line) as Record<string, unknown>)),
  );
}

const id = (): string => crypto.randomUUID();

describe("Cell", () => {
  it("grants up to its cap, then the next one in turn when a permit settles", async () => {
    const { name, stub } = await cellOf(1);
    const [first, second] = [id(), id()];
    const one = await admit(stub, admissionRequestFor(first));
    const two = await admit(stub, admissionRequestFor(second));
    expect({ oneVerdict: one.verdict, twoVerdict: two.verdict }).toEqual({
      oneVerdict: "granted",
      twoVerdict: "waiting",
    });
    expect(await stub.stats()).toEqual({ cell: name, in_flight: 1, queued: 1, max_in_flight: 1 });
    const granted = two.permit.decision();
    await one.permit.settle(settlementFor(first));
    expect(await granted).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    await two.permit.settle(settlementFor(second));
    expect(await stub.stats()).toMatchObject({ in_flight: 0, queued: 0 });
    expect((await rowsOf(name)).map((row) => [row["request_id"], row["admission"], row["cell"]])).toEqual([
      [first, "fast", name],
      [second, "queued", name],
    ]);
  });

  it("has the row of a settlement on disk before it acknowledges it, and only once", async () => {
    const { name, stub } = await cellOf(2);
    const request = id();
    const { permit } = await admit(stub, admissionRequestFor(request));
    await Promise.all([permit.settle(settlementFor(request, 3)), permit.settle(settlementFor(request, 4))]);
    permit[Symbol.dispose]();
    await stub.settleOrphan(settlementFor(request, 3).row);
    expect((await rowsOf(name)).map((row) => row["total_tokens"])).toEqual([3]);
  });

  it("frees the slot of a disposed permit and bills the request for what it used until then", async () => {
    const { name, stub } = await cellOf(1);
    const [called, idle, said] = [id(), id(), id()];
    const one = await admit(stub, admissionRequestFor(called));
    const two = await admit(stub, admissionRequestFor(idle));
    expect({ oneVerdict: one.verdict, twoVerdict: two.verdict }).toEqual({
      oneVerdict: "granted",
      twoVerdict: "waiting",
    });
    one.permit[Symbol.dispose]();
    expect(await two.permit.decision()).toMatchObject({ verdict: "granted" });
    const three = await admit(stub, admissionRequestFor(said));
    two.permit[Symbol.dispose]();
    expect(await three.permit.decision()).toMatchObject({ verdict: "granted" });
    await three.permit.inUse();
    three.permit[Symbol.dispose]();
    await waitFor(
      () => stub.stats(),
      (stats) => stats.in_flight === 0,
    );
    const rows = await waitFor(
      () => rowsOf(name),
      (found) => found.length === 3,
    );
    const written = rows.map((row) => [row["request_id"], row["status_code"], row["total_tokens"], row["cost_usd"]]);
    expect(new Set(written)).toEqual(
      new Set([
        [idle, 499, 0, 0],
        [called, 499, 10, 0.5],
        [said, 499, 10, 0.5],
      ]),
    );
  });

  it("gives a sub-call no slot, and the row of one whose Worker died also over a reset", async () => {
    const { name, stub: before } = await cellOf(1);
    const holder = await admit(before, admissionRequestFor(id()));
    const waiting = await admit(before, admissionRequestFor(id()));
    const subCall = (requestId: string): AdmissionRequest =>
      admissionRequestFor(requestId, { row: rowFor(requestId, { status_code: 499, admission: "boon" }) });
    const [dies, lasts] = [id(), id()];
    const one = await before.adopt(subCall(dies));
    await before.adopt(subCall(lasts));
    expect({ holderVerdict: holder.verdict, waitingVerdict: waiting.verdict }).toEqual({
      holderVerdict: "granted",
      waitingVerdict: "waiting",
    });
    expect(await before.stats()).toMatchObject({ in_flight: 1, queued: 1 });
    (one.permit as unknown as PermitHandle)[Symbol.dispose]();
    await waitFor(
      () => rowsOf(name),
      (rows) =>
        rows.some((row) => row["request_id"] === dies && row["admission"] === "boon" && row["total_tokens"] === 10),
    );
    await abortAllDurableObjects();
    const stub = bindings.CELL.getByName(name);
    const again = (await stub.adopt({ ...subCall(lasts), waitedMs: 0 })).permit as unknown as PermitHandle;
    expect(await stub.stats()).toMatchObject({ in_flight: 0, queued: 0 });
    const { row } = settlementFor(lasts, 9);
    await again.settle({ row: { ...row, admission: "boon" }, actualTokens: 9 });
    const rows = (await rowsOf(name)).filter((each) => each["request_id"] === lasts);
    expect(rows).toMatchObject([{ admission: "boon", total_tokens: 9, queue_wait_ms: 0 }]);
  });

  it("gives back the place of a waiting request that leaves, and grants the next", async () => {
    const { stub } = await cellOf(1);
    const [first, leaver, last] = [id(), id(), id()];
    const one = await admit(stub, admissionRequestFor(first));
    const two = await admit(stub, admissionRequestFor(leaver));
    const three = await admit(stub, admissionRequestFor(last));
    two.permit[Symbol.dispose]();
    await waitFor(
      () => stub.stats(),
      (stats) => stats.queued === 1,
    );
    const granted = three.permit.decision();
    await one.permit.settle(settlementFor(first));
    expect(await granted).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    await three.permit.settle(settlementFor(last));
  });

  it("accepts a second admission request of the same request, and forgets the earlier permit", async () => {
    const { name, stub } = await cellOf(1);
    const request = id();
    const lost = await admit(stub, admissionRequestFor(request));
    const again = await admit(stub, admissionRequestFor(request));
    expect(again.verdict).toBe("granted");
    lost.permit[Symbol.dispose]();
    await again.permit.settle(settlementFor(request, 7));
    expect(await stub.stats()).toMatchObject({ in_flight: 0, queued: 0 });
    expect((await rowsOf(name)).map((row) => row["total_tokens"])).toEqual([7]);
  });

  it("writes one row when a settlement arrives by another way than its permit", async () => {
    const { name, stub } = await cellOf(1);
    const request = id();
    const { permit } = await admit(stub, admissionRequestFor(request));
    await stub.settleOrphan(settlementFor(request, 5).row);
    expect(await stub.stats()).toMatchObject({ in_flight: 0 });
    permit[Symbol.dispose]();
    const marker = id();
    await stub.record(rowFor(marker));
    await stub.settleOrphan(settlementFor(request, 5).row);
    expect((await rowsOf(name)).map((row) => row["request_id"])).toEqual([request, marker]);
  });

  it("answers stale to an admission request from an older record, also after a restart", async () => {
    const { stub } = await cellOf(1);
    await stub.invalidate([{ kind: "key", id: "k1", rev: 6 }]);
    const stale = { verdict: "stale", items: [{ kind: "key", id: "k1", rev: 6 }] };
    expect(await stub.admit(admissionRequestFor(id()))).toEqual(stale);
    await evictDurableObject(stub);
    expect(await stub.admit(admissionRequestFor(id()))).toEqual(stale);
    const fresh = await admit(stub, admissionRequestFor(id(), { revs: [{ kind: "key", id: "k1", rev: 6 }] }));
    expect(fresh.verdict).toBe("granted");
    fresh.permit[Symbol.dispose]();
  });

  it("returns a waiting request as stale at its turn and keeps its place, also over a reset", async () => {
    const { name, stub } = await cellOf(1);
    const [holder, waits, last] = [id(), id(), id()];
    const other = { tenant: { id: "t2", name: "Other", weight: 100, maxInFlight: null }, revs: [] };
    const one = await admit(stub, admissionRequestFor(holder, other));
    const two = await admit(stub, admissionRequestFor(waits));
    const three = await admit(stub, admissionRequestFor(last, other));
    const item = { kind: "key" as const, id: "k1", rev: 6 };
    await stub.invalidate([item]);
    await one.permit.settle(settlementFor(holder));
    expect(await two.permit.decision()).toEqual({ verdict: "stale", items: [item] });
    expect(await three.permit.decision()).toMatchObject({ verdict: "granted" });
    expect(await stub.admit(admissionRequestFor(waits, { waitedMs: 3 }))).toEqual({ verdict: "stale", items: [item] });
    expect(await stub.stats()).toMatchObject({ in_flight: 1, queued: 1 });
    const again = await admit(stub, admissionRequestFor(waits, { revs: [item], waitedMs: 5 }));
    expect({ verdict: again.verdict, stats: await stub.stats() }).toMatchObject({
      verdict: "waiting",
      stats: { in_flight: 1, queued: 1 },
    });
    two.permit[Symbol.dispose]();
    await three.permit.settle(settlementFor(last));
    expect(await again.permit.decision()).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });

    expect((await admit(stub, admissionRequestFor(id(), { revs: [item] }))).verdict).toBe("waiting");
    await abortAllDurableObjects();
    const after = bindings.CELL.getByName(name);
    expect(await after.admit(admissionRequestFor(id()))).toEqual({ verdict: "stale", items: [item] });
    const waited = await admit(after, admissionRequestFor(id(), { revs: [item], waitedMs: 60_000 }));
    const decision = await waited.permit.decision();
    expect(decision).toMatchObject({ verdict: "granted", grant: { admission: "queued" } });
    if (decision.verdict === "granted") expect(decision.grant.queueWaitMs).toBeGreaterThanOrEqual(60_000);
    waited.permit[Symbol.dispose]();
  });

  it("applies a newer cap to waiting requests, and no older one, also after a restart", async () => {
    const { stub } = await cellOf(5);
    const cap = (rev: number, max_in_flight: number) => [
      { kind: "model" as const, id: "m1", rev, model: { max_in_flight, admission_weight: 100 } },
    ];
    await stub.invalidate(cap(9, 1));
    await evictDurableObject(stub);
    const capped = { model: { name: "m1", admissionWeight: 100, maxInFlight: 1 } };
    const [one, two] = [
      await admit(stub, admissionRequestFor(id(), capped)),
      await admit(stub, admissionRequestFor(id(), capped)),
    ];
    await stub.invalidate(cap(8, 5));
    expect(await stub.stats()).toMatchObject({ in_flight: 1, queued: 1 });
    await stub.invalidate(cap(10, 2));
    expect(await stub.stats()).toMatchObject({ in_flight: 2, queued: 0 });
    one.permit[Symbol.dispose]();
    two.permit[Symbol.dispose]();
  });

  it("keeps a capacity set by an admin through a restart, and returns to the configured one", async () => {
    const { stub } = await cellOf(3);
    await evictDurableObject(stub);
    expect(await stub.stats()).toMatchObject({ max_in_flight: 3 });
    expect(await stub.setCapacity(null)).toMatchObject({ max_in_flight: 256 });
  });

  it("reports its end to permits, then counts adopted slots before it grants, even above the cap", async () => {
    const { name } = await cellOf(1);
    const before = bindings.CELL.getByName(name);
    const request = id();
    const { permit } = await admit(before, admissionRequestFor(request));
    const lost = permit.lost().then(
      () => "kept",
      () => "lost",
    );
    await abortAllDurableObjects();
    expect(await lost).toBe("lost");
    const stub = bindings.CELL.getByName(name);
    const waiting = await admit(stub, admissionRequestFor(id()));
    expect(waiting.verdict).toBe("waiting");
    const adopted = (await stub.adopt(admissionRequestFor(request))).permit as unknown as PermitHandle;
    await stub.adopt(admissionRequestFor(id()));
    expect(await stub.stats()).toMatchObject({ in_flight: 2, queued: 1, max_in_flight: 1 });
    await adopted.settle(settlementFor(request, 9));
    expect((await rowsOf(name)).map((row) => row["total_tokens"])).toEqual([9]);
  });

  it("shows which requests hold slots and which wait, now and over the last hour", async () => {
    const { stub } = await cellOf(1);
    const one = await admit(stub, admissionRequestFor(id()));
    const two = await admit(stub, admissionRequestFor(id()));
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
    one.permit[Symbol.dispose]();
    two.permit[Symbol.dispose]();
  });

  it("bounds the rows of unauthenticated refusals and counts them all", async () => {
    const { name, stub } = await cellOf(1);
    const refusal = () =>
      rowFor(id(), { tenant_id: "00000000-0000-0000-0000-000000000000", admission: "rejected", status_code: 401 });
    const secondNow = (): number => Math.floor(Date.now() / 1000);
    const began = secondNow();
    await Promise.all(Array.from({ length: 150 }, () => stub.record(refusal())));
    // The bound applies to each second into which the requests have fallen.
    expect((await rowsOf(name)).length).toBeLessThanOrEqual(50 * (secondNow() - began + 1));
    const { families } = await stub.metrics();
    const requests = families.find((family) => family.name === "gateway_requests_total")?.samples ?? [];
    expect(requests.length).toBe(16);
    expect(requests.filter((sample) => sample.value > 0)).toEqual([
      { suffix: "", labels: { admission: "rejected", status: "4xx" }, value: 150 },
    ]);
  });
});

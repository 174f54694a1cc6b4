/** A Cell's admission, request by request: what comes back, what is charged, and what late messages change. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Caps } from "../../../test/harness/edge/budget/simulation.ts";
import { AdmissionHarness } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf, subCallOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import type { AdmissionRequest } from "./rpc.ts";

const FREE: Caps = {};
const SMALL_BUCKET: Caps = { tokensPerMinute: 40 };
const SMALL_BUDGET: Caps = { tenantTokens: 60 };
/** How long the row of a request that was given up waits, ms. */
const ROW_WAITS_MS = 6_000;

beforeEach(() => vi.useFakeTimers());

const requestOf = (requestId: string, caps: Caps = FREE, tenant = "t"): AdmissionRequest =>
  admissionRequestOf(requestId, tenant, {}, caps);

async function pass(world: AdmissionHarness, ms: number): Promise<void> {
  world.nowMs += ms;
  await vi.advanceTimersByTimeAsync(ms);
}

/** What the tenant was charged, after every report has arrived. */
async function chargedTokens(world: AdmissionHarness, { limits }: AdmissionRequest): Promise<number> {
  for (let second = 0; second < 30; second += 1) await pass(world, 1_000);
  return world.budgets.core("t").read("tenant", limits, world.nowMs).account.usedTokens;
}

const rowsOf = ({ rows }: AdmissionHarness) =>
  rows.map(({ request_id, status_code, total_tokens }) => [request_id, status_code, total_tokens]);

describe("a slot", () => {
  it("is held while the budget object decides, and free in the turn of a refusal", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const first = world.ask({
      ...requestOf("first", SMALL_BUCKET),
      need: { bucketTokens: 41, termTokens: 41, nanoUsd: 0 },
    });
    const next = world.ask(requestOf("next", FREE, "other"));
    expect({ first: first.state, next: next.state, load: world.load }).toEqual({
      first: "reserving",
      next: "waiting",
      load: { inFlight: 1, queued: 1, entries: 2 },
    });
    await pass(world, 0);
    expect({ first: first.decision, next: next.decision, load: world.load }).toMatchObject({
      first: { verdict: "refused", refusal: { code: "token_budget_exceeded", retryAfterMs: 1 } },
      next: { verdict: "granted", grant: { admission: "queued" } },
      load: { inFlight: 1, queued: 0, entries: 2 },
    });
    expect(world.scheduler.snapshot(0).tenants.find(({ tenantId }) => tenantId === "t")?.servedTokens).toBe(0);
  });

  it("is refused to thousands of waiting requests in one turn", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const holder = world.ask(requestOf("holder", FREE, "other"));
    const waiting = Array.from({ length: 5_000 }, (_, index) => world.ask(requestOf(`r${index}`, SMALL_BUDGET)));
    await pass(world, 0);
    await world.end(holder, 1);
    for (const one of waiting.slice(0, 6)) {
      await pass(world, 0);
      expect(one.decision?.verdict).toBe("granted");
      await world.end(one, 10);
    }
    await pass(world, 0);
    expect({ granted: world.granted.length, load: world.load }).toEqual({
      granted: 7,
      load: { inFlight: 0, queued: 0, entries: 4_994 },
    });
    expect(new Set(waiting.slice(6).map(({ decision }) => decision?.verdict))).toEqual(new Set(["refused"]));
  });

  it("is counted above the cap for a request that a former life let through, and once", () => {
    const world = new AdmissionHarness("weighted", 1);
    const first = world.ask(requestOf("first"));
    const waits = world.ask(requestOf("waits"));
    for (const id of ["back", "back", "first"]) world.admission.comeBack({ ...requestOf(id), waitedMs: 0 }, "isolate");
    expect({ first: first.state, waits: waits.state, back: world.stateOf("back"), load: world.load }).toEqual({
      first: "running",
      waits: "waiting",
      back: "running",
      load: { inFlight: 2, queued: 1, entries: 3 },
    });
  });

  it("comes back from a request that starts over, which queues again at its age", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const late = world.ask(requestOf("late"));
    const next = world.ask(requestOf("next"));
    await pass(world, 50);
    world.ask({ ...requestOf("late"), waitedMs: 80, anew: true });
    const last = world.ask(requestOf("last"));
    expect({ late: late.state, next: next.state, load: world.load }).toEqual({
      late: "waiting",
      next: "running",
      load: { inFlight: 1, queued: 2, entries: 3 },
    });
    await world.end(next, 10);
    expect({ late: late.decision, last: last.state }).toMatchObject({
      late: { verdict: "granted", grant: { admission: "queued", queueWaitMs: 80 } },
      last: "waiting",
    });
  });

  it("comes back from a request that starts over on old records, and so does its row", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const request = world.ask(requestOf("one"));
    world.revisions.note([{ kind: "tenant", id: "t", rev: 2 }], 0);
    world.ask({ ...requestOf("one"), waitedMs: 0, anew: true });
    expect({ decision: request.decision?.verdict, state: request.state, load: world.load }).toEqual({
      decision: "stale",
      state: "stale",
      load: { inFlight: 0, queued: 0, entries: 1 },
    });
    world.admission.giveUp("one");
    await pass(world, ROW_WAITS_MS);
    expect({ rows: rowsOf(world), load: world.load }).toEqual({
      rows: [["one", 499, 0]],
      load: { inFlight: 0, queued: 0, entries: 0 },
    });
  });
});

describe("a request that was given up", () => {
  it("has its row in the end, although there was no room for it at first", async () => {
    const world = new AdmissionHarness("weighted", 1);
    world.ask(requestOf("one"));
    world.hasRoom = false;
    world.admission.giveUp("one");
    for (const expected of [[], [["one", 499, 10]]]) {
      await pass(world, 2 * ROW_WAITS_MS);
      expect(rowsOf(world)).toEqual(expected);
      world.hasRoom = true;
    }
  });

  it.each([
    ["comes back and uses less", 5, 10],
    ["comes back and uses more", 13, 13],
  ])("and %s, is charged once", async (_, uses, charged) => {
    const world = new AdmissionHarness("weighted", 1);
    const request = requestOf("one", SMALL_BUDGET);
    const one = world.ask(request);
    await pass(world, 0);
    world.admission.giveUp("one"); // at the estimate, 10
    world.admission.comeBack({ ...request, waitedMs: 0 }, "isolate");
    await world.end(one, uses);
    expect(await chargedTokens(world, request)).toBe(charged);
    expect(world.rows).toHaveLength(1);
  });

  it.each([
    ["less", 5, 10],
    ["more", 13, 13],
  ])("and asks again, is charged once when it uses %s", async (_, uses, charged) => {
    const world = new AdmissionHarness("weighted", 1);
    const request = requestOf("one", SMALL_BUDGET);
    const one = world.ask(request);
    await pass(world, 0);
    world.admission.giveUp("one");
    // The first answer is lost.
    for (let times = 0; times < 2; times += 1) {
      world.ask({ ...request, waitedMs: 0 });
      await pass(world, 0);
    }
    expect(one.state).toBe("running");
    await world.end(one, uses);
    expect(await chargedTokens(world, request)).toBe(charged);
    expect(world.rows).toHaveLength(1);
  });

  it("has used nothing when its isolate was told that the Cell is away, and may ask again", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const request = requestOf("one", SMALL_BUDGET);
    world.ask(request);
    await pass(world, 0);
    world.admission.withdraw("one");
    await pass(world, ROW_WAITS_MS);
    const { account } = world.budgets.core("t").read("tenant", request.limits, world.nowMs);
    expect({ usedTokens: account.usedTokens, rows: world.rows, inFlight: world.scheduler.inFlight }).toEqual({
      usedTokens: 0,
      rows: [],
      inFlight: 0,
    });
    const again = world.ask({ ...request, waitedMs: 5 });
    await pass(world, 0);
    expect(again.decision?.verdict).toBe("granted");
  });

  it("is admitted as fast when its first message was lost, and its row is checked", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const one = world.ask({ ...requestOf("one"), again: true });
    expect(one.decision).toMatchObject({ verdict: "granted", grant: { admission: "fast", queueWaitMs: 0 } });
    await world.end(one, 10);
    expect({ rows: world.rows.length, orphans: world.orphans }).toEqual({ rows: 1, orphans: ["one"] });
  });

  it("refunds nothing twice to the bucket", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const request = requestOf("one", SMALL_BUCKET);
    const one = world.ask(request);
    await pass(world, 0);
    world.admission.giveUp("one");
    world.admission.comeBack({ ...request, waitedMs: 0 }, "isolate");
    await world.end(one, 10);
    await pass(world, 3_000);
    const refilled = (3 * 40) / 60;
    const { tenant } = world.budgets.core("t").buckets(request.limits, world.nowMs);
    expect(tenant.tokens.levelTokens).toBeLessThanOrEqual(30 + refilled);
  });

  it("is charged once, also after its row was written", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const request = requestOf("one", SMALL_BUDGET);
    const one = world.ask(request);
    await pass(world, 0);
    world.admission.giveUp("one");
    await pass(world, ROW_WAITS_MS);
    world.admission.comeBack({ ...request, waitedMs: 0 }, "isolate");
    await world.end(one, 13);
    expect({ rows: rowsOf(world), orphans: world.orphans }).toEqual({
      rows: [["one", 499, 10]],
      orphans: ["one", "one"],
    });
    expect(await chargedTokens(world, request)).toBe(13);
  });

  it("counts its tokens once for its tenant's share when it comes back", async () => {
    const world = new AdmissionHarness("weighted", 3);
    world.ask(requestOf("keeps the cell busy", FREE, "busy"));
    const one = world.ask(requestOf("one"));
    world.admission.giveUp("one");
    world.admission.comeBack({ ...requestOf("one"), waitedMs: 0 }, "isolate");
    await world.end(one, 10);
    const { tenants } = world.scheduler.snapshot(world.nowMs);
    expect(tenants.find(({ tenantId }) => tenantId === "t")?.servedTokens).toBe(10);
  });

  it("is charged at the estimate if it ran, whether it had waited or not, else nothing", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const [atOnce, waited] = [world.ask(requestOf("at once")), world.ask(requestOf("waited"))];
    world.ask(requestOf("waits"));
    world.admission.giveUp("at once");
    expect({ atOnce: atOnce.state, waited: waited.state }).toEqual({ atOnce: null, waited: "running" });
    world.admission.giveUp("waits");
    world.admission.giveUp("waited");
    await pass(world, ROW_WAITS_MS - 1);
    expect(rowsOf(world)).toEqual([]);
    await pass(world, 1);
    expect(rowsOf(world)).toEqual([
      ["at once", 499, 10],
      ["waits", 499, 0],
      ["waited", 499, 10],
    ]);
  });

  it("leaves its row to the end that comes meanwhile", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const one = world.ask(requestOf("one"));
    world.admission.giveUp("one");
    await pass(world, ROW_WAITS_MS - 1);
    await world.end(one, 3, { status_code: 200, total_tokens: 3 });
    await pass(world, 60_000);
    expect(rowsOf(world)).toEqual([["one", 200, 3]]);
  });
});

describe("a waiting request that was given up", () => {
  /** One runs, and two of one isolate wait; the first one is given up, 40 ms after it came. */
  async function givenUp() {
    const world = new AdmissionHarness("weighted", 1);
    const holder = world.ask(requestOf("holder"), "other");
    const [first, second] = [world.ask(requestOf("first")), world.ask(requestOf("second"))];
    await pass(world, 40);
    world.admission.giveUp("first");
    return { world, holder, first, second };
  }

  it("comes back to the queue at its age", async () => {
    const { world, holder, first } = await givenUp();
    await pass(world, ROW_WAITS_MS - 1);
    expect({ told: world.admission.waits("first"), state: first.state, queued: world.scheduler.queued }).toEqual({
      told: null,
      state: "waiting",
      queued: 2,
    });
    await pass(world, 60_000);
    expect(rowsOf(world)).toEqual([]);
    await world.end(holder, 0);
    await world.end({ request: requestOf("second") }, 0);
    expect(first.decision).toMatchObject({ verdict: "granted", grant: { queueWaitMs: 66_039 } });
  });

  it("gets a free slot at once when it comes back, and is told so each time", async () => {
    const { world, holder, second } = await givenUp();
    await world.end(holder, 0);
    await world.end(second, 0);
    const told = [world.admission.waits("first"), world.admission.waits("first")];
    expect(told).toMatchObject([
      { verdict: "granted", grant: { admission: "queued", queueWaitMs: 40 } },
      { verdict: "granted", grant: { admission: "queued", queueWaitMs: 40 } },
    ]);
    expect(world.load).toEqual({ inFlight: 1, queued: 0, entries: 1 });
  });

  it("is checked again first when its records have changed meanwhile", async () => {
    const { world, holder, first } = await givenUp();
    world.revisions.note([{ kind: "tenant", id: "t", rev: 2 }], 0);
    expect(world.admission.waits("first")).toEqual({
      verdict: "stale",
      items: [{ kind: "tenant", id: "t", rev: 2 }],
    });
    await world.end(holder, 0);
    expect(first.state).toBe("stale");
    world.ask({ ...requestOf("first"), revs: [{ kind: "tenant", id: "t", rev: 2 }], waitedMs: 40 });
    expect(first.decision).toMatchObject({ verdict: "granted", grant: { queueWaitMs: 40 } });
  });

  it("is told nothing when it has ended, and asked to queue again when nobody knows it", async () => {
    const { world, first } = await givenUp();
    await world.end(first, 0);
    expect({ ended: world.admission.waits("first"), unknown: world.admission.waits("unknown") }).toEqual({
      ended: null,
      unknown: { verdict: "stale", items: [] },
    });
  });
});

describe("a message that comes late", () => {
  it("gives no slot, no charge and no row to a request that has ended", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const request = requestOf("one", SMALL_BUDGET);
    const one = world.ask(request);
    await pass(world, 0);
    await world.end(one, 5);
    world.admission.comeBack({ ...request, waitedMs: 0 }, "isolate");
    world.admission.giveUp("one");
    expect({
      asked: world.admission.ask(request, "isolate"),
      runs: world.admission.runs("one"),
      load: world.load,
    }).toEqual({ asked: null, runs: true, load: { inFlight: 0, queued: 0, entries: 0 } });
    await world.end(one, 5);
    expect(await chargedTokens(world, request)).toBe(5);
    expect(world.rows).toHaveLength(1);
  });

  it("asks for a slot or a place that the request has: it keeps it, with its answer", async () => {
    const world = new AdmissionHarness("weighted", 1);
    const [runs, waits] = [world.ask(requestOf("runs")), world.ask(requestOf("waits"))];
    const told = [runs, waits].map(({ request }) => world.admission.ask({ ...request, waitedMs: 0 }, "isolate"));
    expect(told).toMatchObject([{ verdict: "granted" }, { verdict: "waiting" }]);
    expect(world.load).toEqual({ inFlight: 1, queued: 1, entries: 2 });
  });

  it("has its row compared with the log when another life may have written one", async () => {
    const world = new AdmissionHarness("weighted", 8);
    const [plain, waited] = [world.ask(requestOf("plain")), world.ask({ ...requestOf("waited"), waitedMs: 5 })];
    for (const one of [plain, waited]) await world.end(one, 1);
    for (const id of ["back", "left"]) world.admission.comeBack({ ...requestOf(id), waitedMs: 0 }, "isolate");
    await world.end({ request: requestOf("back") }, 1);
    await world.end({ request: requestOf("never seen") }, 1);
    world.admission.giveUp("left");
    await pass(world, ROW_WAITS_MS);
    expect(world.orphans).toEqual(["waited", "back", "never seen", "left"]);
  });
});

it("gives up the requests of an isolate without granting any of them what comes back", () => {
  const world = new AdmissionHarness("weighted", 2);
  for (const id of ["r1", "r2", "w1", "w2"]) world.ask(requestOf(id), "lost");
  world.ask(subCallOf(requestOf("sub-call")), "lost");
  world.ask(requestOf("other"));
  for (const entry of world.admission.liveOf("lost")) world.admission.giveUp(entry.request.requestId);
  expect({ granted: world.granted.slice(3), load: world.load }).toEqual({
    granted: ["other"],
    load: { inFlight: 1, queued: 0, entries: 6 },
  });
});

it("tells a request of its grant that could not be entered the first time", () => {
  const world = new AdmissionHarness("weighted", 1);
  const first = world.ask(requestOf("first"));
  const { changed } = world;
  world.changed = () => {
    throw new Error("the disk is full");
  };
  expect(() => world.ask(requestOf("waits"))).toThrow("the disk is full");
  world.changed = changed;
  world.ask(requestOf("waits"));
  void world.end(first, 1);
  expect(world.granted).toEqual(["first", "waits"]);
});

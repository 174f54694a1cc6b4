/**
 * The holdings of an isolate that is cut off from its Cell, and the grants to others
 * (docs/rules/admission.md#leases-of-isolates).
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { AdmissionHarness, type AskedRequest } from "../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf, EMPTY_MESSAGE } from "../../test/harness/edge/cell/admission-requests.ts";
import type { AdmissionRequest } from "../domain/admission/rpc.ts";

const NO_NEWS = { decided: [], hits: [], stored: [], refused: [], unknown: [] };

beforeEach(() => vi.useFakeTimers());

/** One request of an isolate arrives, which states this lease. */
function arrive(
  { ask, members }: AdmissionHarness,
  requestId: string,
  member: string,
  over: Partial<AdmissionRequest> = {},
  leaseMs = 5_000,
): AskedRequest {
  members.heard(member, leaseMs);
  return ask({ ...admissionRequestOf(requestId, "tenant-1"), ...over }, member);
}

/** Time passes, while one isolate keeps reporting. */
function pass({ members }: AdmissionHarness, intervals: number): void {
  for (let interval = 0; interval < intervals; interval += 1) {
    members.heard("here", 5_000);
    members.pass();
  }
}

it("keeps its slots until they are taken back, and gets no other ones meanwhile", async () => {
  const world = new AdmissionHarness("weighted", 2);
  const { end, scheduler, rows } = world;
  const lost = arrive(world, "lost", "cut off");
  const ends = arrive(world, "ends", "here");
  const first = arrive(world, "waits there", "cut off");
  const second = arrive(world, "waits here", "here");
  pass(world, 2);
  await end(ends, 10);
  // The one that has waited longer is passed over.
  expect({ first: first.state, second: second.state }).toEqual({ first: "stale", second: "running" });
  const third = arrive(world, "waits too", "here");
  pass(world, 3);
  expect({ lost: lost.state, third: third.state }).toEqual({ lost: "running", third: "waiting" });
  pass(world, 1);
  expect({ lost: lost.state, first: first.state, third: third.state }).toEqual({
    lost: null,
    first: null,
    third: "running",
  });
  expect({
    inFlight: scheduler.inFlight,
    queued: scheduler.queued,
    rowIds: rows.map(({ request_id }) => request_id),
  }).toEqual({ inFlight: 2, queued: 0, rowIds: ["ends"] });
});

it("keeps its slots for the lease that it states, even if it sends nothing else", () => {
  const world = new AdmissionHarness("weighted", 2);
  const patient = arrive(world, "patient", "other settings", {}, 25_000);
  const lost = arrive(world, "lost", "cut off");
  const heldAfter = (intervals: number) => {
    pass(world, intervals);
    return { patient: patient.state, lost: lost.state };
  };
  expect({ after6: heldAfter(6), after15: heldAfter(9), after16: heldAfter(1) }).toEqual({
    after6: { patient: "running", lost: null },
    after15: { patient: "running", lost: null },
    after16: { patient: null, lost: null },
  });
});

it("gets its turn by its age when it is back and asks again", async () => {
  const world = new AdmissionHarness("weighted", 1);
  const ends = arrive(world, "ends", "here");
  const waits = arrive(world, "waits", "slow");
  pass(world, 2);
  await world.end(ends, 10);
  expect(waits.decision).toEqual({ verdict: "stale", items: [] });
  expect(arrive(world, "waits", "slow", { waitedMs: 4_000 }).state).toBe("running");
});

describe("the row of a request that was taken back", () => {
  /** One request waits, and one was granted a slot after it had waited; both are taken back. */
  async function takenBack() {
    const world = new AdmissionHarness("weighted", 1);
    const ends = arrive(world, "ends", "here");
    const granted = arrive(world, "granted", "cut off");
    const waits = arrive(world, "waits", "cut off");
    await world.end(ends, 0);
    expect({ granted: granted.state, waits: waits.state }).toEqual({ granted: "running", waits: "waiting" });
    pass(world, 6);
    expect({ granted: granted.state, waits: waits.state }).toEqual({ granted: null, waits: null });
    const rowsNow = () =>
      Object.fromEntries(world.rows.slice(1).map(({ request_id, status_code }) => [request_id, status_code]));
    return { world, rowsNow };
  }

  it("has the answer's status when the isolate is back within minutes and asks again", async () => {
    const { world, rowsNow } = await takenBack();
    await vi.advanceTimersByTimeAsync(299_000);
    expect(rowsNow()).toEqual({});
    world.members.heard("cut off", 5_000);
    await vi.advanceTimersByTimeAsync(5_999);
    for (const id of ["granted", "waits"]) {
      const again = arrive(world, id, "cut off", { waitedMs: 45_000 });
      expect(again.state).toBe("running");
      await world.end(again, 50, { status_code: 200 });
    }
    await vi.advanceTimersByTimeAsync(600_000);
    expect(rowsNow()).toEqual({ granted: 200, waits: 200 });
  });

  it("is 499 when the isolate is back and does not ask for it", async () => {
    const { world, rowsNow } = await takenBack();
    await vi.advanceTimersByTimeAsync(60_000);
    world.members.heard("cut off", 5_000);
    await vi.advanceTimersByTimeAsync(5_999);
    expect(rowsNow()).toEqual({});
    await vi.advanceTimersByTimeAsync(1);
    const left = { granted: 499, waits: 499 };
    expect(rowsNow()).toEqual(left);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(rowsNow()).toEqual(left);
  });

  it("is 499 when the isolate never comes back", async () => {
    const { rowsNow } = await takenBack();
    await vi.advanceTimersByTimeAsync(306_000);
    expect(rowsNow()).toEqual({ granted: 499, waits: 499 });
  });
});

describe("a grant that may not have arrived", () => {
  const lostBy = {
    "its code": ({ admission }: AdmissionHarness, { request }: AskedRequest) => admission.giveUp(request.requestId),
    silence: (world: AdmissionHarness) => {
      pass(world, 6);
      world.members.heard("cut off", 5_000);
    },
  };
  const ways = Object.keys(lostBy) as (keyof typeof lostBy)[];
  const rowsOf = ({ rows }: AdmissionHarness) =>
    rows.map(({ request_id, status_code, total_tokens }) => [request_id, status_code, total_tokens]);

  it.each(ways)("leaves the row to the request that asks again and is served, if lost with %s", async (way) => {
    const world = new AdmissionHarness("weighted", 1);
    const lost = arrive(world, "asks again", "cut off");
    expect(lost.state).toBe("running");
    lostBy[way](world, lost);
    expect({ state: lost.state, inFlight: world.scheduler.inFlight }).toEqual({ state: null, inFlight: 0 });
    const again = arrive(world, "asks again", "cut off", { waitedMs: 0 });
    await world.end(again, 3, { status_code: 200, total_tokens: 3 });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(rowsOf(world)).toEqual([["asks again", 200, 3]]);
  });

  it.each(ways)("leaves the row to the isolate that refused the request meanwhile, if lost with %s", async (way) => {
    const world = new AdmissionHarness("weighted", 1);
    const lost = arrive(world, "refused", "cut off");
    lostBy[way](world, lost);
    await world.end(lost, 0, { status_code: 503 });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(rowsOf(world)).toEqual([["refused", 503, 0]]);
  });

  it.each(ways)("is settled at the estimate when nobody comes back, after it was lost with %s", async (way) => {
    const world = new AdmissionHarness("weighted", 1);
    lostBy[way](world, arrive(world, "gone", "cut off"));
    await vi.advanceTimersByTimeAsync(5_999);
    expect(rowsOf(world)).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(rowsOf(world)).toEqual([["gone", 499, 10]]);
  });
});

describe.each(["weighted", "hierarchical"] as const)("the other isolates of its tenant, %s", (algorithm) => {
  /** Four requests run here and three wait at the isolate that is cut off, ahead of five that wait here. */
  function cutOff() {
    const world = new AdmissionHarness(algorithm, 4);
    const many = (ids: readonly string[], member: string) => ids.map((id) => arrive(world, id, member));
    const running = many(["r1", "r2", "r3", "r4"], "here");
    const gone = many(["g1", "g2", "g3"], "cut off");
    const waiting = many(["h1", "h2", "h3", "h4", "h5"], "here");
    return { world, running, gone, waiting };
  }
  const statesOf = (requests: readonly AskedRequest[]) => requests.map(({ state }) => state);

  it("get each slot that is free, also when several of its requests are next", async () => {
    const { world, running, gone, waiting } = cutOff();
    pass(world, 2);
    for (const [done, request] of running.entries()) {
      await world.end(request, 10);
      expect({
        inFlight: world.scheduler.inFlight,
        grantedCount: statesOf(waiting).filter((state) => state === "running").length,
      }).toEqual({ inFlight: 4, grantedCount: done + 1 });
    }
    expect(statesOf(gone)).toEqual(["stale", "stale", "stale"]);
    expect(world.scheduler.queued).toBe(4);
  });

  it("get them too when its requests were sent back before it was cut off", async () => {
    const { world, running, gone, waiting } = cutOff();
    world.revisions.note([{ kind: "tenant", id: "tenant-1", rev: 2 }], 0);
    for (const request of running) await world.end(request, 10);
    expect(statesOf(gone)).toEqual(["stale", "waiting", "waiting"]);
    pass(world, 2);
    const sentBack = Array.from({ length: 4 }, () => "stale");
    expect(statesOf(waiting)).toEqual([...sentBack, "waiting"]);
    for (const id of ["h1", "h2", "h3", "h4"]) arrive(world, id, "here", { revs: [], waitedMs: 0 });
    expect(world.scheduler.inFlight).toBe(4);
  });

  it("come after it in the order of arrival when it is back", async () => {
    const { world, running, waiting } = cutOff();
    pass(world, 2);
    const [one, two] = running;
    if (one === undefined || two === undefined) throw new Error("four run");
    await world.end(one, 10);
    const back = arrive(world, "g1", "cut off", { waitedMs: 0 });
    expect({ back: back.state, others: statesOf(waiting) }).toEqual({
      back: "waiting",
      others: ["running", "waiting", "waiting", "waiting", "waiting"],
    });
    await world.end(two, 10);
    expect({ back: back.state, other: waiting[1]?.state }).toEqual({ back: "running", other: "waiting" });
  });
});

it("loses its session with what it holds, and lists its requests in the next one", async () => {
  const world = new AdmissionHarness("weighted", 2);
  const member = { member: "cut off", leaseMs: 5_000, running: [], others: [] };
  const asks = ["runs", "continues"].map((id) => admissionRequestOf(id, "tenant-1"));
  const first = world.members.open({ ...member, waiting: [] }, { ...EMPTY_MESSAGE, n: 1, asks });
  const news = world.members.news(first.session);
  pass(world, 6);
  expect(await news).toEqual(NO_NEWS);
  expect(() => world.members.exchange(first.session, { ...EMPTY_MESSAGE, n: 2 })).toThrow("the session is over");
  const running = ["continues"];
  const next = world.members.open({ ...member, waiting: [], running }, { ...EMPTY_MESSAGE, n: 3 });
  expect({ unknown: next.answer.unknown, state: world.stateOf("continues", "cut off") }).toEqual({
    unknown: [],
    state: "running",
  });
});

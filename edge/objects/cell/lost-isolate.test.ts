/** What an isolate holds that is cut off from its Cell, and what others get (docs/rules/admission.md#leases-of-isolates). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type AdmissionHarness, admissionHarnessOf } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";
import type { AdmissionEntry } from "./admission-entry.ts";

beforeEach(() => vi.useFakeTimers());

const requestOf = (requestId: string, holder: string): AdmissionRequest => ({
  ...admissionRequestOf(requestId, "tenant-1"),
  holder,
});

it("keeps its slots until they are taken back, and gets no other ones meanwhile", async () => {
  const { admission, scheduler, holders, rows } = admissionHarnessOf("weighted", 2);
  const lost = admission.arrive(requestOf("lost", "cut off"));
  admission.watched(lost);
  const ends = admission.arrive(requestOf("ends", "here"));
  const [first, second] = [
    admission.arrive(requestOf("waits there", "cut off")),
    admission.arrive(requestOf("waits here", "here")),
  ];
  const pass = (sweeps: number): void => {
    for (let sweep = 0; sweep < sweeps; sweep += 1) {
      holders.heard("here");
      holders.sweep();
    }
  };
  pass(2);
  await admission.settle(ends, { row: ends.request.row, actualTokens: 10 });
  // The one that has waited longer is passed over.
  expect({ firstVerdict: first.decision?.verdict, secondVerdict: second.decision?.verdict }).toEqual({
    firstVerdict: "stale",
    secondVerdict: "granted",
  });
  const third = admission.arrive(requestOf("waits too", "here"));
  pass(3);
  expect([lost, third].map((entry) => [admission.holds(entry), entry.decision?.verdict])).toEqual([
    [true, "granted"],
    [true, undefined],
  ]);
  pass(1);
  expect({
    holdsLost: admission.holds(lost),
    holdsFirst: admission.holds(first),
    thirdVerdict: third.decision?.verdict,
  }).toEqual({ holdsLost: false, holdsFirst: false, thirdVerdict: "granted" });
  expect({
    inFlight: scheduler.inFlight,
    queued: scheduler.queued,
    rowIds: rows.map(({ request_id }) => request_id),
  }).toEqual({ inFlight: 2, queued: 0, rowIds: ["ends", "lost"] });
  expect(holders.lifeFor("cut off", "life")).toBe("life/1");
});

it("keeps its slots for the lease that its requests state, even if it sends nothing else", () => {
  const { admission, holders } = admissionHarnessOf("weighted", 2);
  const patient = admission.arrive({ ...requestOf("patient", "other settings"), leaseMs: 25_000 });
  const lost = admission.arrive(requestOf("lost", "cut off"));
  const heldAfter = (sweeps: number) => {
    for (let sweep = 0; sweep < sweeps; sweep += 1) holders.sweep();
    return { patient: admission.holds(patient), lost: admission.holds(lost) };
  };
  expect({ after6Sweeps: heldAfter(6), after15Sweeps: heldAfter(9), after16Sweeps: heldAfter(1) }).toEqual({
    after6Sweeps: { patient: true, lost: false },
    after15Sweeps: { patient: true, lost: false },
    after16Sweeps: { patient: false, lost: false },
  });
});

it("gets its turn by its age when it is back and asks again", async () => {
  const { admission, holders } = admissionHarnessOf("weighted", 1);
  const ends = admission.arrive(requestOf("ends", "here"));
  const waits = admission.arrive(requestOf("waits", "slow"));
  for (let sweep = 0; sweep < 2; sweep += 1) {
    holders.heard("here");
    holders.sweep();
  }
  await admission.settle(ends, { row: ends.request.row, actualTokens: 10 });
  expect(await admission.decision(waits)).toEqual({ verdict: "stale", items: [] });
  const again = admission.arrive({ ...requestOf("waits", "slow"), waitedMs: 4_000 });
  expect(again.decision?.verdict).toBe("granted");
});

describe("the row of a request that was taken back", () => {
  /** One request waits, and one was granted a slot after it had waited, and has sent nothing; both are taken back. */
  async function takenBack() {
    const harness = admissionHarnessOf("weighted", 1);
    const { admission, holders } = harness;
    const ends = admission.arrive(requestOf("ends", "here"));
    const granted = admission.arrive(requestOf("granted", "cut off"));
    const waits = admission.arrive(requestOf("waits", "cut off"));
    await admission.settle(ends, { row: ends.request.row, actualTokens: 0 });
    for (let sweep = 0; sweep < 6; sweep += 1) holders.sweep();
    expect([granted, waits].map((entry) => [admission.holds(entry), entry.decision?.verdict])).toEqual([
      [false, "granted"],
      [false, undefined],
    ]);
    const rows = (): (readonly [string, number])[] =>
      harness.rows.slice(1).map(({ request_id, status_code }) => [request_id, status_code]);
    return { ...harness, rowsNow: rows };
  }

  it("has the answer's status when the isolate is back within minutes and asks again", async () => {
    const { admission, holders, rowsNow } = await takenBack();
    await vi.advanceTimersByTimeAsync(299_000);
    expect(rowsNow()).toEqual([]);
    holders.heard("cut off");
    await vi.advanceTimersByTimeAsync(5_999);
    for (const id of ["granted", "waits"]) {
      const again = admission.arrive({ ...requestOf(id, "cut off"), waitedMs: 45_000 });
      expect(again.decision?.verdict).toBe("granted");
      await admission.settle(again, { row: { ...again.request.row, status_code: 200 }, actualTokens: 50 });
    }
    await vi.advanceTimersByTimeAsync(600_000);
    expect(rowsNow()).toEqual([
      ["granted", 200],
      ["waits", 200],
    ]);
  });

  it("is 499 when the isolate is back and does not ask for it", async () => {
    const { holders, rowsNow } = await takenBack();
    await vi.advanceTimersByTimeAsync(60_000);
    holders.heard("cut off");
    await vi.advanceTimersByTimeAsync(5_999);
    expect(rowsNow()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    const left = [
      ["waits", 499],
      ["granted", 499],
    ];
    expect(rowsNow()).toEqual(left);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(rowsNow()).toEqual(left);
  });

  it("is 499 when the isolate never comes back", async () => {
    const { rowsNow } = await takenBack();
    await vi.advanceTimersByTimeAsync(300_000);
    expect(rowsNow()).toEqual([
      ["waits", 499],
      ["granted", 499],
    ]);
  });
});

describe("a grant that may not have arrived", () => {
  const lostBy = {
    "its connection": (harness: AdmissionHarness, entry: AdmissionEntry) => harness.admission.abandon(entry),
    "its session": async ({ admission }: AdmissionHarness, entry: AdmissionEntry) => {
      admission.disconnected(entry);
      await vi.advanceTimersByTimeAsync(2_000);
    },
    silence: ({ holders }: AdmissionHarness, _entry: AdmissionEntry) => {
      for (let sweep = 0; sweep < 6; sweep += 1) holders.sweep();
      holders.heard("cut off");
    },
  };
  const ways = Object.keys(lostBy) as (keyof typeof lostBy)[];
  const statuses = (harness: AdmissionHarness) =>
    harness.rows.map(({ request_id, status_code, total_tokens }) => [request_id, status_code, total_tokens]);

  it.each(ways)("leaves the row to the request that asks again and is served, if lost with %s", async (way) => {
    const harness = admissionHarnessOf("weighted", 1);
    const { admission, scheduler } = harness;
    const lost = admission.arrive(requestOf("asks again", "cut off"));
    expect(lost.decision?.verdict).toBe("granted");
    await lostBy[way](harness, lost);
    expect({ holds: admission.holds(lost), inFlight: scheduler.inFlight }).toEqual({ holds: false, inFlight: 0 });
    const again = admission.arrive({ ...requestOf("asks again", "cut off"), waitedMs: 0 });
    const settlement = { row: { ...again.request.row, status_code: 200, total_tokens: 3 }, actualTokens: 3 };
    await admission.settle(again, settlement);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(statuses(harness)).toEqual([["asks again", 200, 3]]);
  });

  it.each(ways)("leaves the row to the isolate that refused the request meanwhile, if lost with %s", async (way) => {
    const harness = admissionHarnessOf("weighted", 1);
    const lost = harness.admission.arrive(requestOf("refused", "cut off"));
    await lostBy[way](harness, lost);
    await harness.admission.settleOrphan({ row: { ...lost.request.row, status_code: 503 }, upstream: {} });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(statuses(harness)).toEqual([["refused", 503, 0]]);
  });

  it.each(ways)("is settled at the estimate when nobody comes back, after it was lost with %s", async (way) => {
    const harness = admissionHarnessOf("weighted", 1);
    await lostBy[way](harness, harness.admission.arrive(requestOf("gone", "cut off")));
    await vi.advanceTimersByTimeAsync(5_999);
    expect(statuses(harness)).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(statuses(harness)).toEqual([["gone", 499, 10]]);
  });

  it("is settled at once if the isolate showed that it has it, or if isolates need no lease", () => {
    const harness = admissionHarnessOf("weighted", 5);
    const { admission } = harness;
    const watched = admission.arrive(requestOf("watched", "cut off"));
    admission.watched(watched);
    const reported = admission.arrive(requestOf("reported", "cut off"));
    admission.inUse(reported);
    const adopted = admission.adopt(requestOf("adopted", "cut off"));
    const alone = admission.arrive(admissionRequestOf("alone", "tenant-1"));
    for (const entry of [watched, reported, adopted, alone]) admission.abandon(entry);
    expect(statuses(harness).map(([id]) => id)).toEqual(["watched", "reported", "adopted", "alone"]);
  });
});

describe.each(["weighted", "hierarchical"] as const)("the other isolates of its tenant, %s", (algorithm) => {
  /** Four requests run here and three wait at the isolate that is cut off, ahead of five that wait here. */
  function cutOff() {
    const harness = admissionHarnessOf(algorithm, 4);
    const { admission, holders } = harness;
    const arrive = (ids: readonly string[], holder: string) => ids.map((id) => admission.arrive(requestOf(id, holder)));
    const running = arrive(["r1", "r2", "r3", "r4"], "here");
    const gone = arrive(["g1", "g2", "g3"], "cut off");
    const waiting = arrive(["h1", "h2", "h3", "h4", "h5"], "here");
    const pass = (sweeps: number): void => {
      for (let sweep = 0; sweep < sweeps; sweep += 1) {
        holders.heard("here");
        holders.sweep();
      }
    };
    const settle = async (entry: AdmissionEntry) =>
      await admission.settle(entry, { row: entry.request.row, actualTokens: 10 });
    const verdicts = (): (string | undefined)[] => waiting.map(({ decision }) => decision?.verdict);
    return { ...harness, running, gone, pass, settle, verdicts };
  }

  it("get each slot that is free, also when several of its requests are next", async () => {
    const { scheduler, running, gone, pass, settle, verdicts } = cutOff();
    pass(2);
    for (const [done, entry] of running.entries()) {
      await settle(entry);
      expect({
        inFlight: scheduler.inFlight,
        grantedCount: verdicts().filter((verdict) => verdict === "granted").length,
      }).toEqual({ inFlight: 4, grantedCount: done + 1 });
    }
    expect(gone.map(({ decision }) => decision?.verdict)).toEqual(["stale", "stale", "stale"]);
    expect(scheduler.queued).toBe(4);
  });

  it("get them too when its requests were sent back before it was cut off", async () => {
    const { admission, scheduler, revisions, running, gone, pass, settle, verdicts } = cutOff();
    revisions.note([{ kind: "tenant", id: "tenant-1", rev: 2 }], 0);
    for (const entry of running) await settle(entry);
    expect(gone.map(({ decision }) => decision?.verdict)).toEqual(["stale", undefined, undefined]);
    pass(2);
    expect(verdicts()).toEqual(["stale", "stale", "stale", "stale", undefined]);
    for (const id of ["h1", "h2", "h3", "h4"]) admission.arrive({ ...requestOf(id, "here"), revs: [], waitedMs: 0 });
    expect(scheduler.inFlight).toBe(4);
  });

  it("come after it in the order of arrival when it is back", async () => {
    const { admission, running, pass, settle, verdicts } = cutOff();
    pass(2);
    await settle(running[0] as AdmissionEntry);
    const back = admission.arrive({ ...requestOf("g1", "cut off"), waitedMs: 0 });
    expect({ backDecision: back.decision, otherVerdicts: verdicts() }).toEqual({
      backDecision: null,
      otherVerdicts: ["granted", undefined, undefined, undefined, undefined],
    });
    await settle(running[1] as AdmissionEntry);
    expect({ backVerdict: back.decision?.verdict, otherVerdict: verdicts()[1] }).toEqual({
      backVerdict: "granted",
      otherVerdict: undefined,
    });
  });
});

/** What an isolate holds that is cut off from its Cell, and what others get (docs/rules/admission.md#leases-of-isolates). */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";
import { admissionHarnessOf } from "./testing/admission-harness.ts";
import { admissionRequestOf } from "./testing/admission-requests.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const requestOf = (requestId: string, holder: string): AdmissionRequest => ({
  ...admissionRequestOf(requestId, "tenant-1"),
  holder,
});

it("keeps its slots until they are taken back, and gets no other ones meanwhile", async () => {
  const { admission, scheduler, holders, rows } = admissionHarnessOf("weighted", 2);
  const lost = admission.arrive(requestOf("lost", "cut off"));
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
  expect([first.decision?.verdict, second.decision?.verdict]).toEqual(["stale", "granted"]);
  const third = admission.arrive(requestOf("waits too", "here"));
  pass(3);
  expect([lost, third].map((entry) => [admission.holds(entry), entry.decision?.verdict])).toEqual([
    [true, "granted"],
    [true, undefined],
  ]);
  pass(1);
  expect([admission.holds(lost), admission.holds(first), third.decision?.verdict]).toEqual([false, false, "granted"]);
  expect([scheduler.inFlight, scheduler.queued, rows.map(({ request_id }) => request_id)]).toEqual([
    2,
    0,
    ["ends", "lost"],
  ]);
  expect(holders.lifeFor("cut off", "life")).toBe("life/1");
});

it("gets its turn when it is heard again and asks again, at its age", async () => {
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

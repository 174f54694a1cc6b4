/**
 * A queue takes a limited number of requests, and a request that is in it stays (docs/rules/admission.md#queue-bounds).
 */
import { describe, expect, it } from "vitest";
import { admissionHarnessOf } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import { MAX_QUEUED } from "./queue-limit.ts";

const FULL = { verdict: "refused", refusal: { code: "queue_full", retryAfterMs: 1000, level: null } };

describe("a tenant's queue", () => {
  it("takes up to its limit and refuses one more, which holds nothing; other tenants still fit", async () => {
    const { admission, scheduler, rows } = admissionHarnessOf("weighted", 1, 3);
    admission.arrive(admissionRequestOf("holder", "a"));
    const queued = ["1", "2", "3"].map((id) => admission.arrive(admissionRequestOf(id, "a")));
    const beyond = admission.arrive(admissionRequestOf("4", "a"));
    expect({
      refusedDecision: beyond.decision,
      queuedDecisions: queued.map((entry) => entry.decision),
      queued: scheduler.queued,
    }).toEqual({ refusedDecision: FULL, queuedDecisions: [null, null, null], queued: 3 });
    expect(admission.arrive(admissionRequestOf("other", "b")).decision).toBeNull();
    const row = { ...beyond.request.row, status_code: 429, admission: "rejected" as const };
    await admission.settle(beyond, { row, actualTokens: 0 });
    expect(rows).toMatchObject([{ request_id: "4", status_code: 429, admission: "rejected", queue_wait_ms: 0 }]);
    for (const entry of queued.slice(0, 1)) admission.abandon(entry);
    expect({
      fits: admission.arrive(admissionRequestOf("5", "a")).decision,
      beyond: admission.arrive(admissionRequestOf("6", "a")).decision,
    }).toEqual({ fits: null, beyond: FULL });
  });

  it("that is full does not keep the tenant from a model that has free slots", () => {
    const { admission } = admissionHarnessOf("weighted", 8, 1);
    const full = { model: { name: "full", admissionWeight: 100, maxInFlight: 1 } };
    expect(["1", "2", "3"].map((id) => admission.arrive(admissionRequestOf(id, "a", full)).decision?.verdict)).toEqual([
      "granted",
      undefined,
      "refused",
    ]);
    expect(admission.arrive(admissionRequestOf("4", "a")).decision?.verdict).toBe("granted");
  });

  it("has no limit of its own when the limit is 0", () => {
    const { admission, scheduler } = admissionHarnessOf("weighted", 1, 0);
    for (let at = 0; at < 200; at += 1) admission.arrive(admissionRequestOf(`r${at}`, "a"));
    expect(scheduler.queued).toBe(199);
  });

  it("drops no waiting request that is judged again or that lost its place to a reset", async () => {
    const { admission, scheduler, revisions } = admissionHarnessOf("weighted", 1, 2);
    const holder = admission.arrive(admissionRequestOf("holder", "a"));
    admission.arrive(admissionRequestOf("1", "a"));
    admission.arrive(admissionRequestOf("2", "a"));
    revisions.note([{ kind: "tenant", id: "a", rev: 2 }], 0);
    admission.arrive(admissionRequestOf("b", "b"));
    await admission.settle(holder, { row: holder.request.row, actualTokens: 10 });
    const revs = [{ kind: "tenant" as const, id: "a", rev: 2 }];
    expect(admission.arrive(admissionRequestOf("1", "a", { revs, waitedMs: 5 })).decision).toBeNull();
    expect(admission.arrive(admissionRequestOf("lost its place", "a", { revs, waitedMs: 50 })).decision).toBeNull();
    expect(scheduler.queued).toBe(3);
    expect(admission.arrive(admissionRequestOf("new", "a", { revs })).decision).toEqual(FULL);
  });
});

describe("a cell's queue", () => {
  it("is limited over all tenants", () => {
    const { admission, scheduler } = admissionHarnessOf("weighted", 1, 0);
    for (let at = 0; at <= MAX_QUEUED; at += 1) admission.arrive(admissionRequestOf(`r${at}`, `t${at % 500}`));
    expect(scheduler.queued).toBe(MAX_QUEUED);
    expect(admission.arrive(admissionRequestOf("one more", "t1")).decision).toEqual(FULL);
    expect(admission.arrive(admissionRequestOf("who waited", "t1", { waitedMs: 1 })).decision).toBeNull();
  });
});

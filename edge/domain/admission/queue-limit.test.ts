/**
 * A queue takes a limited number of requests, and a request that is in it stays (docs/rules/admission.md#queue-bounds).
 */
import { describe, expect, it } from "vitest";
import { AdmissionHarness } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import { MAX_QUEUED } from "./queue-limit.ts";

const FULL = { verdict: "refused", refusal: { code: "queue_full", retryAfterMs: 1000, level: null } };

describe("a tenant's queue", () => {
  it("takes up to its limit and refuses one more, which holds nothing; other tenants still fit", async () => {
    const { ask, end, admission, scheduler, rows } = new AdmissionHarness("weighted", 1, 3);
    ask(admissionRequestOf("holder", "a"));
    const queued = ["1", "2", "3"].map((id) => ask(admissionRequestOf(id, "a")));
    const beyond = ask(admissionRequestOf("4", "a"));
    expect({
      refusedDecision: beyond.decision,
      queuedDecisions: queued.map((entry) => entry.decision),
      queued: scheduler.queued,
    }).toEqual({ refusedDecision: FULL, queuedDecisions: [null, null, null], queued: 3 });
    expect(ask(admissionRequestOf("other", "b")).decision).toBeNull();
    await end(beyond, 0, { status_code: 429, admission: "rejected" });
    expect(rows).toMatchObject([{ request_id: "4", status_code: 429, admission: "rejected", queue_wait_ms: 0 }]);
    for (const entry of queued.slice(0, 1)) admission.giveUp(entry.request.requestId);
    expect({
      fits: ask(admissionRequestOf("5", "a")).decision,
      beyond: ask(admissionRequestOf("6", "a")).decision,
    }).toEqual({ fits: null, beyond: FULL });
  });

  it("that is full does not keep the tenant from a model that has free slots", () => {
    const { ask } = new AdmissionHarness("weighted", 8, 1);
    const full = { model: { name: "full", admissionWeight: 100, maxInFlight: 1 } };
    expect(["1", "2", "3"].map((id) => ask(admissionRequestOf(id, "a", full)).decision?.verdict)).toEqual([
      "granted",
      undefined,
      "refused",
    ]);
    expect(ask(admissionRequestOf("4", "a")).decision?.verdict).toBe("granted");
  });

  it("has no limit of its own when the limit is 0", () => {
    const { ask, scheduler } = new AdmissionHarness("weighted", 1, 0);
    for (let at = 0; at < 200; at += 1) ask(admissionRequestOf(`r${at}`, "a"));
    expect(scheduler.queued).toBe(199);
  });

  it("drops no waiting request that is checked again or that lost its place to a reset", async () => {
    const { ask, end, scheduler, revisions } = new AdmissionHarness("weighted", 1, 2);
    const holder = ask(admissionRequestOf("holder", "a"));
    ask(admissionRequestOf("1", "a"));
    ask(admissionRequestOf("2", "a"));
    revisions.note([{ kind: "tenant", id: "a", rev: 2 }], 0);
    ask(admissionRequestOf("b", "b"));
    await end(holder, 10);
    const revs = [{ kind: "tenant" as const, id: "a", rev: 2 }];
    expect(ask(admissionRequestOf("1", "a", { revs, waitedMs: 5 })).decision).toBeNull();
    expect(ask(admissionRequestOf("lost its place", "a", { revs, waitedMs: 50 })).decision).toBeNull();
    expect(scheduler.queued).toBe(3);
    expect(ask(admissionRequestOf("new", "a", { revs })).decision).toEqual(FULL);
  });
});

describe("a cell's queue", () => {
  it("is limited over all tenants", () => {
    const { ask, scheduler } = new AdmissionHarness("weighted", 1, 0);
    for (let at = 0; at <= MAX_QUEUED; at += 1) ask(admissionRequestOf(`r${at}`, `t${at % 500}`));
    expect(scheduler.queued).toBe(MAX_QUEUED);
    expect(ask(admissionRequestOf("one more", "t1")).decision).toEqual(FULL);
    expect(ask(admissionRequestOf("who waited", "t1", { waitedMs: 1 })).decision).toBeNull();
  });
});

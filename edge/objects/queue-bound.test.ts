/** A queue holds so many and no more, and whoever is in it stays (decisions §43.2). */
import { describe, expect, it } from "vitest";
import { MAX_QUEUED } from "./queue-bound.ts";
import { askOf } from "./testing/asks.ts";
import { deskOf } from "./testing/desk.ts";

const FULL = { verdict: "refused", refusal: { code: "queue_full", retryAfterMs: 1000, level: null } };

describe("a tenant's queue", () => {
  it("takes as many as it may hold, refuses one more, which holds nothing, and nobody of another tenant", async () => {
    const { desk, scheduler, rows } = deskOf("weighted", 1, 3);
    desk.arrive(askOf("holder", "a"));
    const queued = ["1", "2", "3"].map((id) => desk.arrive(askOf(id, "a")));
    const beyond = desk.arrive(askOf("4", "a"));
    expect([beyond.decision, queued.map((seat) => seat.decision), scheduler.queued]).toEqual([
      FULL,
      [null, null, null],
      3,
    ]);
    expect(desk.arrive(askOf("other", "b")).decision).toBeNull();
    const row = { ...beyond.ask.row, status_code: 429, admission: "rejected" as const };
    await desk.settle(beyond, { row, actualTokens: 0 });
    expect(rows).toMatchObject([{ request_id: "4", status_code: 429, admission: "rejected", queue_wait_ms: 0 }]);
    for (const seat of queued.slice(0, 1)) desk.abandon(seat);
    expect([desk.arrive(askOf("5", "a")).decision, desk.arrive(askOf("6", "a")).decision]).toEqual([null, FULL]);
  });

  it("that is full keeps nobody from a model that has room", () => {
    const { desk } = deskOf("weighted", 8, 1);
    const full = { model: { name: "full", admissionWeight: 100, maxInFlight: 1 } };
    expect(["1", "2", "3"].map((id) => desk.arrive(askOf(id, "a", full)).decision?.verdict)).toEqual([
      "granted",
      undefined,
      "refused",
    ]);
    expect(desk.arrive(askOf("4", "a")).decision?.verdict).toBe("granted");
  });

  it("has no bound of its own when it is told 0", () => {
    const { desk, scheduler } = deskOf("weighted", 1, 0);
    for (let at = 0; at < 200; at += 1) desk.arrive(askOf(`r${at}`, "a"));
    expect(scheduler.queued).toBe(199);
  });

  it("drops nobody who waits: not one that is judged again, not one that lost its place to a reset", async () => {
    const { desk, scheduler, revisions } = deskOf("weighted", 1, 2);
    const holder = desk.arrive(askOf("holder", "a"));
    desk.arrive(askOf("1", "a"));
    desk.arrive(askOf("2", "a"));
    revisions.note([{ kind: "tenant", id: "a", rev: 2 }], 0);
    desk.arrive(askOf("b", "b"));
    await desk.settle(holder, { row: holder.ask.row, actualTokens: 10 });
    const revs = [{ kind: "tenant" as const, id: "a", rev: 2 }];
    expect(desk.arrive(askOf("1", "a", { revs, waitedMs: 5 })).decision).toBeNull();
    expect(desk.arrive(askOf("lost its place", "a", { revs, waitedMs: 50 })).decision).toBeNull();
    expect(scheduler.queued).toBe(3);
    expect(desk.arrive(askOf("new", "a", { revs })).decision).toEqual(FULL);
  });
});

describe("a cell's queue", () => {
  it("is bounded over all tenants", () => {
    const { desk, scheduler } = deskOf("weighted", 1, 0);
    for (let at = 0; at <= MAX_QUEUED; at += 1) desk.arrive(askOf(`r${at}`, `t${at % 500}`));
    expect(scheduler.queued).toBe(MAX_QUEUED);
    expect(desk.arrive(askOf("one more", "t1")).decision).toEqual(FULL);
    expect(desk.arrive(askOf("who waited", "t1", { waitedMs: 1 })).decision).toBeNull();
  });
});

/** A request that moves to another model keeps nothing of the first one (docs/rules/models.md#fallback-models). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { AdmissionHarness } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import type { AdmissionRequest } from "./rpc.ts";

beforeEach(() => vi.useFakeTimers());

const requestOf = (requestId: string, model: string, waitedMs: number | null = null, tenant = "a"): AdmissionRequest =>
  admissionRequestOf(
    requestId,
    tenant,
    { model: { name: model, admissionWeight: 100, maxInFlight: 1 }, waitedMs },
    { tokensPerMinute: 15 },
  );

const slotsOf = ({ scheduler }: AdmissionHarness) => Object.fromEntries(scheduler.inFlightByModel());

it("a slot and the tokens come back before the request asks for the other model", async () => {
  const world = new AdmissionHarness("weighted", 10);
  const moving = world.ask(requestOf("moving", "first"));
  await vi.waitFor(() => expect(moving.state).toBe("running"));
  const next = world.ask(requestOf("next", "first", null, "b"));
  world.nowMs = 5_000;
  const moved = world.ask(requestOf("moving", "second", 0));
  await vi.waitFor(() => expect(moved.state).toBe("running"));
  expect({ slots: slotsOf(world), waited: moved.decision }).toMatchObject({
    slots: { first: 1, second: 1 },
    waited: { verdict: "granted", grant: { queueWaitMs: 0 } },
  });
  await vi.waitFor(() => expect(next.state).toBe("running"));
  await world.end(moved, 10);
  expect(world.rows.map(({ request_id }) => request_id)).toEqual(["moving"]);
});

it("an answer that was lost is given again to a request that asks twice", async () => {
  const world = new AdmissionHarness("weighted", 10);
  const moving = world.ask(requestOf("moving", "first"));
  await vi.waitFor(() => expect(moving.state).toBe("running"));
  const moved = world.ask(requestOf("moving", "second", 0));
  await vi.waitFor(() => expect(moved.state).toBe("running"));
  const again = world.ask({ ...requestOf("moving", "second", 0), again: true });
  expect({ slots: slotsOf(world), state: again.state }).toEqual({ slots: { second: 1 }, state: "running" });
});

describe("the queue of the other model", () => {
  const FULL = { verdict: "refused", refusal: { code: "queue_full" } };
  const askOf = (
    world: AdmissionHarness,
    id: string,
    model: string,
    over: Partial<AdmissionRequest> = {},
    tenant = "a",
  ) =>
    world.ask(
      admissionRequestOf(id, tenant, {
        model: { name: model, admissionWeight: 100, maxInFlight: model === "first" ? null : 1 },
        ...over,
      }),
    );

  it("takes no more of a tenant's requests than its limit, and each request beyond may move on", () => {
    const world = new AdmissionHarness("weighted", 100, 2);
    askOf(world, "holder", "second", {}, "b");
    const moving = ["1", "2", "3", "4"];
    for (const id of moving) askOf(world, id, "first");
    const moved = moving.map((id) => askOf(world, id, "second", { waitedMs: 0 }));
    expect({
      queued: world.scheduler.queued,
      slots: slotsOf(world),
      states: moved.map(({ state }) => state),
      last: moved[3]?.decision,
    }).toMatchObject({
      queued: 2,
      slots: { second: 1 },
      states: ["waiting", "waiting", "refused", "refused"],
      last: FULL,
    });
    expect(askOf(world, "4", "third", { waitedMs: 0 }).state).toBe("running");
    expect(askOf(world, "of another tenant", "second", {}, "b").state).toBe("waiting");
  });

  it("takes none beyond its limit after reading again; until then the slot stays", () => {
    const world = new AdmissionHarness("weighted", 100, 1);
    askOf(world, "holder", "second", {}, "b");
    askOf(world, "waits", "second");
    askOf(world, "moving", "first");
    world.revisions.note([{ kind: "tenant", id: "a", rev: 2 }], 0);
    const moved = askOf(world, "moving", "second", { waitedMs: 0 });
    expect({ decision: moved.decision, slots: slotsOf(world) }).toMatchObject({
      decision: { verdict: "stale" },
      slots: { first: 1, second: 1 },
    });
    askOf(world, "moving", "second", { waitedMs: 0, revs: [{ kind: "tenant", id: "a", rev: 2 }] });
    expect({ decision: moved.decision, slots: slotsOf(world) }).toMatchObject({ decision: FULL, slots: { second: 1 } });
  });

  it("holds no place of a request that waited when the Cell was lost, and asks for another model", async () => {
    const world = new AdmissionHarness("weighted", 100);
    const holder = askOf(world, "holder", "second", {}, "b");
    const other = askOf(world, "other", "third", {}, "b");
    askOf(world, "moving", "first");
    askOf(world, "moving", "second", { waitedMs: 0 });
    const moved = askOf(world, "moving", "third", { waitedMs: 0 });
    await world.end(holder, 10);
    expect({ state: moved.state, slots: slotsOf(world) }).toEqual({ state: "waiting", slots: { third: 1 } });
    await world.end(other, 10);
    expect({ state: moved.state, slots: slotsOf(world) }).toEqual({ state: "running", slots: { third: 1 } });
  });
});

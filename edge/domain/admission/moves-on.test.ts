/** A request that goes on to another model takes nothing of the first one along (docs/rules/models.md#fallback-models). */
import { beforeEach, expect, it, vi } from "vitest";
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

/** A sub-call that reserves its budgets: it runs on the slot of its session (docs/rules/realtime.md#budgets). */
import { beforeEach, expect, it, vi } from "vitest";
import { AdmissionHarness } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf, subCallOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import type { AdmissionRequest } from "./rpc.ts";

beforeEach(() => vi.useFakeTimers());

const responseOf = (requestId: string, tokens: number): AdmissionRequest => ({
  ...subCallOf(admissionRequestOf(requestId, "t", {}, { tenantTokens: 60 })),
  reserves: true,
  need: { bucketTokens: tokens, termTokens: tokens, nanoUsd: 0, requests: 1 },
});

async function settled(world: AdmissionHarness): Promise<void> {
  world.nowMs += 1_000;
  await vi.advanceTimersByTimeAsync(1_000);
}

it("runs above the cap of slots when its budgets cover it, and is refused when they do not", async () => {
  const world = new AdmissionHarness("weighted", 1);
  const session = world.ask(admissionRequestOf("session", "t", {}, { tenantTokens: 60 }));
  await settled(world);
  const fits = world.ask(responseOf("fits", 50));
  await settled(world);
  const exceeds = world.ask(responseOf("exceeds", 40));
  await settled(world);
  expect({
    session: session.state,
    fits: fits.decision?.verdict,
    exceeds: exceeds.decision,
    inFlight: world.scheduler.inFlight,
  }).toMatchObject({
    session: "running",
    fits: "granted",
    exceeds: { verdict: "refused", refusal: { code: "tenant_budget_exhausted" } },
    inFlight: 1,
  });
});

it("gives back what it reserved when it is lost before its budgets have decided", async () => {
  const world = new AdmissionHarness("weighted", 1);
  world.budgets.reach = "silent";
  const one = world.ask(responseOf("one", 50));
  expect(one.state).toBe("reserving");
  world.admission.giveUp("one");
  world.budgets.reach = "up";
  await settled(world);
  const next = world.ask(responseOf("next", 50));
  await settled(world);
  expect({ next: next.decision?.verdict, inFlight: world.scheduler.inFlight }).toEqual({
    next: "granted",
    inFlight: 0,
  });
});

it("is checked again when its records are older than the newest, and starts over", async () => {
  const world = new AdmissionHarness("weighted", 1);
  world.revisions.note([{ kind: "tenant", id: "t", rev: 2 }], 0);
  expect(world.admission.ask(responseOf("one", 5), "isolate")).toMatchObject({ verdict: "stale" });
});

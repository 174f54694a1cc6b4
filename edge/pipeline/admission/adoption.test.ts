/**
 * The slot of a request that outlives its Cell (docs/rules/admission.md#reset-and-adoption): the request tries to have
 * it adopted until a new Cell is up, and settles it there.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { TestPermit, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { NOTHING_KNOWN } from "../call/known.ts";
import { startCall } from "../call/start-call.ts";
import { run } from "../run.ts";
import type { AdmittedRequest } from "./admit.ts";
import { Settler } from "./settle.ts";

const grant = { admission: "fast", queueWaitMs: 0, level: null } as const;

/** `sessionLost`: resolves when the session that holds the slot is lost; null: the request has a permit of its own. */
function slotOf({ model, permit }: TestPipeline, sessionLost: Promise<void> | null): AdmittedRequest {
  return {
    ...NOTHING_KNOWN,
    model,
    permit,
    grant,
    message: {},
    atOnce: true,
    sessionLost,
  } as unknown as AdmittedRequest;
}

describe("a slot whose Cell was reset", () => {
  it.each([
    ["is claimed again until the new Cell is up", 3, true],
    ["is given up when no Cell comes up", Number.POSITIVE_INFINITY, false],
  ])("%s", async (_, failures, isAdopted) => {
    const world = new TestPipeline();
    const adopted = new TestPermit();
    const claimed = Promise.withResolvers<undefined>();
    let left = failures;
    world.adopt = async () => {
      left -= 1;
      if (left >= 0) throw new Error("the Cell is starting");
      claimed.resolve(undefined);
      return adopted;
    };
    world.permit.settleFails = true;
    world.upstream = async () => {
      world.permit.reset.reject(new Error("reset"));
      await (isAdopted
        ? claimed.promise
        : waitFor(
            () => world.waits,
            (waits) => waits.length >= 24,
          ));
      throw new TypeError("refused");
    };
    const response = await run(world.received());
    await world.settled();
    expect(response.status).toBe(502);
    expect(world.waits.filter((ms) => ms === 200)).toEqual(Array.from({ length: isAdopted ? 3 : 24 }, () => 200));
    expect({ adoptedStatus: adopted.settlement?.row.status_code, orphanCount: world.orphans.length }).toEqual(
      isAdopted ? { adoptedStatus: 502, orphanCount: 0 } : { adoptedStatus: undefined, orphanCount: 1 },
    );
  });

  it("is released under its new permit when its request ends during the adoption", async () => {
    const world = new TestPipeline();
    const adopted = new TestPermit();
    const asked = Promise.withResolvers<undefined>();
    const claimed = Promise.withResolvers<TestPermit>();
    world.adopt = async () => {
      asked.resolve(undefined);
      return await claimed.promise;
    };
    const settler = new Settler(startCall(world.received()), slotOf(world, null));
    settler.upstreamCalled();
    world.permit.reset.reject(new Error("reset"));
    await asked.promise;
    settler.abandon();
    claimed.resolve(adopted);
    await world.settled();
    expect({ adoptedDisposed: adopted.disposed, replacedDisposed: world.permit.disposed }).toEqual({
      adoptedDisposed: true,
      replacedDisposed: false,
    });
  });
});

describe("a slot that is held by its isolate's session", () => {
  let adopted: TestPermit;
  let lost: PromiseWithResolvers<void>;
  let world: TestPipeline;
  let settler: Settler;
  let adoptions: number;

  beforeEach(() => {
    vi.useFakeTimers();
    adopted = new TestPermit();
    lost = Promise.withResolvers<void>();
    world = new TestPipeline();
    // While it has no permit of its own, the request learns nothing of its Cell.
    world.permit.reset.reject(new Error("held by a session"));
    adoptions = 0;
    world.adopt = async () => {
      adoptions += 1;
      return adopted;
    };
    settler = new Settler(startCall(world.received()), slotOf(world, lost.promise));
  });

  async function pass(ms: number): Promise<void> {
    world.nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }

  it("gets a permit of its own when it has been in use for a second", async () => {
    settler.upstreamCalled();
    await pass(200);
    await pass(799);
    expect(adoptions).toBe(0);
    await pass(1);
    expect(adoptions).toBe(1);
    settler.end({ statusCode: 200 });
    await world.settled();
    expect({
      adoptedStatus: adopted.settlement?.row.status_code,
      replacedSettlement: world.permit.settlement,
      adoptions,
    }).toEqual({ adoptedStatus: 200, replacedSettlement: null, adoptions: 1 });
  });

  it("needs none when it ends before", async () => {
    settler.upstreamCalled();
    settler.end({ statusCode: 200 });
    await pass(2_000);
    await world.settled();
    expect({ status_code: world.permit.settlement?.row.status_code, adoptions }).toEqual({
      status_code: 200,
      adoptions: 0,
    });
  });

  it("is adopted when its session is lost, even if its Cell was down when it was a second old", async () => {
    const reachable = world.adopt;
    world.adopt = async () => await Promise.reject(new Error("away"));
    settler.upstreamCalled();
    await pass(1_000);
    for (let attempt = 0; attempt < 30; attempt += 1) await pass(200);
    world.adopt = reachable;
    lost.resolve();
    await pass(0);
    expect(adoptions).toBe(1);
    settler.end({ statusCode: 200 });
    await world.settled();
  });

  it("gets one at once when the session is lost", async () => {
    lost.resolve();
    await pass(0);
    expect(adoptions).toBe(1);
    settler.end({ statusCode: 200 });
    await world.settled();
  });
});

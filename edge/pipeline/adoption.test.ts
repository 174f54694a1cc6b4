/** The slot of a request that outlives its Cell (design §4): claimed again until a successor is up, then settled there. */
import { describe, expect, it } from "vitest";
import { waitFor } from "../../test/harness/wait-for.ts";
import type { Slot } from "./admit.ts";
import { receive } from "./receive.ts";
import { run } from "./run.ts";
import { Settler } from "./settle.ts";
import { TestPermit, World } from "./testing/world.ts";

describe("a slot whose Cell was reset", () => {
  it.each([
    ["is claimed again until the new Cell is up", 3, true],
    ["is given up when no Cell comes up", Number.POSITIVE_INFINITY, false],
  ])("%s", async (_, failures, isAdopted) => {
    const world = new World();
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
    expect([adopted.settlement?.row.status_code, world.orphans.length]).toEqual(isAdopted ? [502, 0] : [undefined, 1]);
  });

  it("is let go of under its new permit when its request gives up while it is claimed", async () => {
    const world = new World();
    const adopted = new TestPermit();
    const asked = Promise.withResolvers<undefined>();
    const claimed = Promise.withResolvers<TestPermit>();
    world.adopt = async () => {
      asked.resolve(undefined);
      return await claimed.promise;
    };
    const grant = { admission: "fast", queueWaitMs: 0, level: null } as const;
    const slot = { model: world.model, permit: world.permit, grant, ask: {}, atOnce: true } as unknown as Slot;
    const settler = new Settler(receive(world.received()), slot);
    settler.upstreamCalled();
    world.permit.reset.reject(new Error("reset"));
    await asked.promise;
    settler.abandon();
    claimed.resolve(adopted);
    await world.settled();
    expect([adopted.disposed, world.permit.disposed]).toEqual([true, false]);
  });
});

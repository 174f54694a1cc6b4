/**
 * Exchanges between isolates and their Cell (docs/rules/admission.md#exchanges), with the real parts of both sides in
 * simulated time: every law of docs/architecture.md#admission holds.
 * EXCHANGE_SIMULATION_RUNS=5000 runs more worlds.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { propertyRuns } from "../../harness/property-runs.ts";
import { printedSeed } from "../seed.ts";
import { orderly, playExchanges, setupPlay, stormy } from "./play.ts";
import { Watch } from "./watch.ts";
import type { World } from "./world.ts";

/** How many worlds of each kind are simulated. */
const runs = Number(process.env["EXCHANGE_SIMULATION_RUNS"] ?? propertyRuns(40));
const seed = printedSeed("exchanges.property.test.ts");
/** A run of many worlds is for finding failures. It stops at the first one, because shrinking takes long. */
const options = { numRuns: runs, seed, endOnFailure: runs > 100 };
const timeoutMs = 60_000 + 2_000 * runs;

function wrongWith(world: World, watch: Watch): readonly string[] {
  watch.atLast(world);
  return [...world.truth.broken, ...watch.wrong].slice(0, 6);
}

describe("exchanges in a simulated world", () => {
  it(
    "keep every cap, revision, row and token while no isolate and no Cell dies",
    async () => {
      await fc.assert(
        fc.asyncProperty(setupPlay, orderly, async (given, steps) => {
          const watch = new Watch(true);
          const world = await playExchanges(given, steps, (at) => watch.look(at));
          expect(wrongWith(world, watch)).toEqual([]);
          expect({ died: world.died.size, uncounted: world.truth.uncounted.size }).toEqual({ died: 0, uncounted: 0 });
        }),
        options,
      );
    },
    timeoutMs,
  );

  it(
    "keep them when calls, isolates, session contexts, sessions or Cells are lost or late",
    async () => {
      await fc.assert(
        fc.asyncProperty(setupPlay, stormy, async (given, steps) => {
          const watch = new Watch(false);
          const world = await playExchanges(given, steps, (at) => watch.look(at));
          expect(wrongWith(world, watch)).toEqual([]);
        }),
        options,
      );
    },
    timeoutMs,
  );
});

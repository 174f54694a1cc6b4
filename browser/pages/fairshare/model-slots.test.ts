/** Models are listed by who holds slots, whatever they are called. */
import { describe, expect, it } from "vitest";
import type { FairshareLive } from "../../../shared/schema/load.ts";
import { modelSlots } from "./model-slots.ts";

const live = (inFlight: object, queued: object): FairshareLive =>
  ({ max_in_flight: 8, model_in_flight: inFlight, model_queued: queued }) as unknown as FairshareLive;

describe("the models of the live view", () => {
  it("are sorted by slots, then by waiting requests, and leave out unused models", () => {
    const rows = modelSlots(live({ a: 2, b: 4, idle: 0 }, { c: 3, a: 1, d: 3 }));
    expect(rows.map(({ model, inFlight, queued, share }) => [model, inFlight, queued, share])).toEqual([
      ["b", 4, 0, 0.5],
      ["a", 2, 1, 0.25],
      ["c", 0, 3, 0],
      ["d", 0, 3, 0],
    ]);
  });

  it("can have the name of an object's built-in member", () => {
    const named = JSON.parse('{"__proto__": 1, "constructor": 2}') as object;
    expect(modelSlots(live(named, {})).map(({ model }) => model)).toEqual(["constructor", "__proto__"]);
  });
});

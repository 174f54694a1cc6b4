import { describe, expect, test } from "vitest";
import { LOADS, type Load } from "./loads.ts";
import { planFor } from "./plan.ts";

const [first] = LOADS;
if (first === undefined) throw new Error("there are no loads");
const core: Load = { ...first, name: "core", once: false, core: true };
const other: Load = { ...core, name: "other", core: false };
const once: Load = { ...other, name: "once", once: true, onceMs: 2000 };
const pace = { coreRounds: 3, otherRounds: 1, sliceMs: 1000, warmMs: 500 };
const wanted = [core, other, once].map((load) => ({ load, targets: 2 }));

describe("the plan of a run", () => {
  test("is the normal pace when there is time", () => {
    const plan = planFor(wanted, pace, 60_000);
    expect(plan(core)).toEqual({ rounds: 3, sliceMs: 1000, warmMs: 500 });
    expect(plan(other)).toEqual({ rounds: 1, sliceMs: 1000, warmMs: 500 });
  });

  test("shortens turns so that all of them fit beside those of fixed length", () => {
    // 2 targets x (3 x 1000 + 500 + 1000 + 500) = 10 s at full pace, and 4 s that cannot be shortened
    const plan = planFor(wanted, pace, 9000);
    expect(plan(core)).toEqual({ rounds: 3, sliceMs: 500, warmMs: 250 });
  });

  test("never makes a turn shorter than the shortest useful one", () => {
    expect(planFor(wanted, pace, 0)(core).sliceMs).toBe(200);
  });
});

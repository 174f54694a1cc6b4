import { describe, expect, it } from "vitest";
import { ActiveSet } from "./active-set.ts";

interface Holder {
  inFlight: number;
}

function activeSetOf(weights: readonly number[]): { activeSet: ActiveSet<Holder>; holders: Holder[] } {
  const activeSet = new ActiveSet<Holder>(() => undefined);
  const holders = weights.map((weight) => {
    const holder = { inFlight: 0 };
    activeSet.put(holder, weight);
    return holder;
  });
  return { activeSet, holders };
}

describe("slot caps", () => {
  it("that do not divide evenly leave the extra slot to the first taker, then to the next", () => {
    const { activeSet, holders } = activeSetOf([100, 100, 100]);
    const take = (at: number, slots: number): void => {
      const holder = holders[at];
      if (holder === undefined) return;
      holder.inFlight += slots;
      activeSet.put(holder, 100);
    };
    const open = (): boolean[] => holders.map((holder) => activeSet.isBelowCap(holder, 7));
    expect(holders.map((holder) => activeSet.mostOf(holder, 7))).toEqual([3, 3, 3]);
    for (const at of [0, 1, 2]) take(at, 2);
    expect(open()).toEqual([true, true, true]);
    take(2, 1);
    expect(open()).toEqual([false, false, false]);
    take(2, -1);
    take(1, 1);
    expect(open()).toEqual([false, false, false]);
    take(0, -1);
    expect(open()).toEqual([true, false, false]);
  });
});

/** The output limits that may be in force in a realtime session. */
import { expect, it } from "vitest";
import { OutputLimits } from "./output-limits.ts";

it("those that wait for an answer count with the one that was stated last", () => {
  const limits = new OutputLimits();
  limits.stated(10);
  limits.asked("a", 5);
  limits.asked("b", null);
  limits.asked("c", undefined);
  const waiting = limits.possible;
  limits.refused("b");
  const refused = limits.possible;
  limits.taken();
  limits.stated(5);
  expect({ waiting, refused, stated: limits.possible }).toEqual({ waiting: [null, 10], refused: [10], stated: [5] });
});

it("many that are never answered keep no more than the largest", () => {
  const limits = new OutputLimits();
  limits.stated(1);
  for (let limit = 1; limit <= 1_000; limit += 1) limits.asked("same", limit);
  expect(limits.possible).toEqual([1_000]);
});

import { describe, expect, test } from "vitest";
import { type Figures, figuresOf } from "./figures.ts";
import { LOADS, type TargetName } from "./loads.ts";
import type { Measured } from "./summary.ts";
import { sentToGateway, voidReasons } from "./void.ts";

function measured(
  ...given: readonly (readonly [TargetName, sent: number, failures?: Figures["failures"]])[]
): Measured {
  const [load] = LOADS;
  if (load === undefined) throw new Error("there are no loads");
  const figures = given.map(([target, sent, failures = {}]) => ({ ...figuresOf([], target), sent, failures }));
  return { load, figures };
}

describe("a run", () => {
  const all = [measured(["direct", 10], ["governed", 20]), measured(["governed", 3], ["front", 3], ["workers", 1])];

  test("counts when every request ended well and left one row", () => {
    expect(sentToGateway(all)).toBe(27);
    expect(voidReasons(all, 27)).toEqual([]);
    expect(voidReasons([measured(["direct", 10])], null)).toEqual([]);
  });

  test("is void with a row too few or too many", () => {
    expect(voidReasons(all, 26)).toEqual(["27 requests of the gateway, 26 rows in the ledger"]);
    expect(voidReasons(all, 28)).toHaveLength(1);
  });

  test("is void with a failed request, at whatever target", () => {
    const failures = { "502 bad": 2, ECONNRESET: 1 };
    expect(voidReasons([measured(["floor", 5, failures])], null)).toEqual([
      "queue-1000, floor: 2 x 502 bad",
      "queue-1000, floor: 1 x ECONNRESET",
    ]);
  });
});

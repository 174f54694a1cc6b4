import { describe, expect, test } from "vitest";
import { ratioOf, spreadOf } from "./spread.ts";

describe("the spread of rounds", () => {
  test("is the ends and the middle, whatever the order", () => {
    expect(spreadOf([3, 1, 2])).toEqual({ min: 1, median: 2, max: 3 });
    expect(spreadOf([4, 1, 2, 3])).toEqual({ min: 1, median: 2.5, max: 4 });
    expect(spreadOf([7])).toEqual({ min: 7, median: 7, max: 7 });
  });

  test("of nothing is nothing", () => {
    expect(spreadOf([])).toBeNull();
  });
});

describe("the ratio of two targets", () => {
  const byRound = (...values: number[]) => new Map(values.map((value, round) => [round, value]));

  test("compares within a round, so that a slow machine cancels out", () => {
    expect(ratioOf(byRound(50, 5, 500), byRound(100, 10, 1000))).toEqual({ min: 0.5, median: 0.5, max: 0.5 });
  });

  test("leaves out rounds that lack one of the two, or in which the other did nothing", () => {
    expect(
      ratioOf(
        new Map([
          [0, 1],
          [1, 6],
          [2, 9],
        ]),
        new Map([
          [1, 3],
          [2, 0],
          [3, 4],
        ]),
      ),
    ).toEqual({ min: 2, median: 2, max: 2 });
    expect(ratioOf(byRound(1), new Map())).toBeNull();
  });
});

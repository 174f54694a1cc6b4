import { describe, expect, test } from "vitest";
import { goalsOf, isReached } from "./goals.ts";

describe("a goal", () => {
  test("is reached on its side of the bound, the bound included", () => {
    expect(isReached({ what: "", value: 0.6, atLeast: 0.6 })).toBe(true);
    expect(isReached({ what: "", value: 0.59, atLeast: 0.6 })).toBe(false);
    expect(isReached({ what: "", value: 1.5, atMost: 1.5 })).toBe(true);
    expect(isReached({ what: "", value: 1.51, atMost: 1.5 })).toBe(false);
  });

  test("that was not measured is neither reached nor missed", () => {
    expect(isReached({ what: "", value: null, atLeast: 1 })).toBeNull();
    expect(isReached({ what: "", value: Number.NaN, atMost: 1 })).toBeNull();
    expect(goalsOf([], null).map(isReached)).toEqual(goalsOf([], null).map(() => null));
  });
});

import { expect, it } from "vitest";
import { isMonth } from "./statement-search.ts";

it.each([
  ["2026-10", true],
  ["1999-12", true],
  // what a browser's field says while the year 2025 is typed
  ["0002-10", false],
  ["0202-10", false],
  ["2026-13", false],
  ["2026-1", false],
  ["", false],
  [undefined, false],
])("%s is a month: %s", (month, isOne) => {
  expect(isMonth(month)).toBe(isOne);
});

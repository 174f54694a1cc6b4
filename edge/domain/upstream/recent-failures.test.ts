import { expect, it } from "vitest";
import { FAILING_MS, FAILURES_IN_A_ROW, RecentFailures } from "./recent-failures.ts";

function failing(times: number, nowMs = 0): RecentFailures {
  const memory = new RecentFailures();
  for (let time = 0; time < times; time += 1) memory.failed("a", nowMs);
  return memory;
}

it("puts an endpoint last after three failures in a row, for ten seconds", () => {
  expect(failing(FAILURES_IN_A_ROW - 1).isFailing("a", 0)).toBe(false);
  const memory = failing(FAILURES_IN_A_ROW);
  expect(memory.isFailing("a", FAILING_MS - 1)).toBe(true);
  expect(memory.isFailing("a", FAILING_MS)).toBe(false);
  expect(memory.isFailing("b", 0)).toBe(false);
});

it("puts it last again with the next failure after that", () => {
  const memory = failing(FAILURES_IN_A_ROW);
  memory.failed("a", FAILING_MS);
  expect(memory.isFailing("a", 2 * FAILING_MS - 1)).toBe(true);
});

it("forgets failures with the first answer", () => {
  const memory = failing(FAILURES_IN_A_ROW);
  memory.answered("a");
  expect(memory.isFailing("a", 0)).toBe(false);
  memory.failed("a", 0);
  memory.failed("a", 0);
  expect(memory.isFailing("a", 0)).toBe(false);
});

it("stays bounded: what was seen longest ago is forgotten first", () => {
  const memory = failing(FAILURES_IN_A_ROW);
  for (let other = 0; other < 10_000; other += 1) memory.failed(`other ${other}`, 0);
  expect(memory.isFailing("a", 0)).toBe(false);
});

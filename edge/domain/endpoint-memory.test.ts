import { expect, it } from "vitest";
import { EndpointMemory, FAILURES_TO_LAST, TRIED_LAST_MS } from "./endpoint-memory.ts";

function failing(times: number, nowMs = 0): EndpointMemory {
  const memory = new EndpointMemory();
  for (let time = 0; time < times; time += 1) memory.failed("a", nowMs);
  return memory;
}

it("puts an endpoint last after three failures in a row, for ten seconds", () => {
  expect(failing(FAILURES_TO_LAST - 1).isTriedLast("a", 0)).toBe(false);
  const memory = failing(FAILURES_TO_LAST);
  expect(memory.isTriedLast("a", TRIED_LAST_MS - 1)).toBe(true);
  expect(memory.isTriedLast("a", TRIED_LAST_MS)).toBe(false);
  expect(memory.isTriedLast("b", 0)).toBe(false);
});

it("puts it last again with the next failure after that", () => {
  const memory = failing(FAILURES_TO_LAST);
  memory.failed("a", TRIED_LAST_MS);
  expect(memory.isTriedLast("a", 2 * TRIED_LAST_MS - 1)).toBe(true);
});

it("forgets failures with the first answer", () => {
  const memory = failing(FAILURES_TO_LAST);
  memory.answered("a");
  expect(memory.isTriedLast("a", 0)).toBe(false);
  memory.failed("a", 0);
  memory.failed("a", 0);
  expect(memory.isTriedLast("a", 0)).toBe(false);
});

it("stays bounded: what was seen longest ago is forgotten first", () => {
  const memory = failing(FAILURES_TO_LAST);
  for (let other = 0; other < 10_000; other += 1) memory.failed(`other ${other}`, 0);
  expect(memory.isTriedLast("a", 0)).toBe(false);
});

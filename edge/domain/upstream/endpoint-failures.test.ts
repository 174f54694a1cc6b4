import { expect, it } from "vitest";
import { DEMOTED_MS, EndpointFailures, FAILURES_TO_DEMOTE } from "./endpoint-failures.ts";

function failing(times: number, nowMs = 0): EndpointFailures {
  const memory = new EndpointFailures();
  for (let time = 0; time < times; time += 1) memory.failed("a", nowMs);
  return memory;
}

it("puts an endpoint last after three failures in a row, for ten seconds", () => {
  expect(failing(FAILURES_TO_DEMOTE - 1).isDemoted("a", 0)).toBe(false);
  const memory = failing(FAILURES_TO_DEMOTE);
  expect(memory.isDemoted("a", DEMOTED_MS - 1)).toBe(true);
  expect(memory.isDemoted("a", DEMOTED_MS)).toBe(false);
  expect(memory.isDemoted("b", 0)).toBe(false);
});

it("puts it last again with the next failure after that", () => {
  const memory = failing(FAILURES_TO_DEMOTE);
  memory.failed("a", DEMOTED_MS);
  expect(memory.isDemoted("a", 2 * DEMOTED_MS - 1)).toBe(true);
});

it("forgets failures with the first answer", () => {
  const memory = failing(FAILURES_TO_DEMOTE);
  memory.answered("a");
  expect(memory.isDemoted("a", 0)).toBe(false);
  memory.failed("a", 0);
  memory.failed("a", 0);
  expect(memory.isDemoted("a", 0)).toBe(false);
});

it("stays bounded: what was seen longest ago is forgotten first", () => {
  const memory = failing(FAILURES_TO_DEMOTE);
  for (let other = 0; other < 10_000; other += 1) memory.failed(`other ${other}`, 0);
  expect(memory.isDemoted("a", 0)).toBe(false);
});

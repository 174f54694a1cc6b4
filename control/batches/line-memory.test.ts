/** Lines with large answers are fewer at once (docs/rules/batches.md#windows). */
import { expect, it } from "vitest";
import { LineMemory } from "./line-memory.ts";

const MIB = 1024 * 1024;

it("a model with large answers has few lines at once, and more when answers are small", () => {
  const memory = new LineMemory();
  expect(memory.room("m")).toBe(1024);
  memory.answered("m", 8 * MIB);
  expect({ large: memory.room("m"), other: memory.room("n") }).toEqual({ large: 8, other: 1024 });
  const free = Array.from({ length: 8 }, () => memory.taken("m", 0));
  expect({ large: memory.room("m"), other: memory.room("n") }).toEqual({ large: 0, other: 0 });
  for (const each of free) each();
  for (let at = 0; at < 60; at += 1) memory.answered("m", 100);
  expect(memory.room("m")).toBe(1024);
});

it("a line that is larger than the memory runs alone", () => {
  const memory = new LineMemory();
  memory.answered("m", 100 * MIB);
  expect(memory.room("m")).toBe(1);
  const free = memory.taken("m", 0);
  expect(memory.room("m")).toBe(0);
  free();
  expect(memory.room("m")).toBe(1);
});

/** Lines with large answers are fewer at once, and leave room for other tenants (docs/rules/batches.md#windows). */
import { expect, it } from "vitest";
import { LineMemory } from "./line-memory.ts";

const MIB = 1024 * 1024;

it("a model with large answers has few lines at once, and more when answers are small", () => {
  const memory = new LineMemory();
  expect(memory.room("t", "m")).toBe(512);
  memory.answered("m", 8 * MIB);
  expect({ large: memory.room("t", "m"), other: memory.room("t", "n") }).toEqual({ large: 4, other: 512 });
  const free = Array.from({ length: 4 }, () => memory.taken("t", "m", 0));
  expect({ large: memory.room("t", "m"), other: memory.room("t", "n") }).toEqual({ large: 0, other: 0 });
  for (const each of free) each();
  for (let at = 0; at < 60; at += 1) memory.answered("m", 100);
  expect(memory.room("t", "m")).toBe(512);
});

it("a line that is larger than the memory runs alone", () => {
  const memory = new LineMemory();
  memory.answered("m", 100 * MIB);
  expect(memory.room("t", "m")).toBe(1);
  const free = memory.taken("t", "m", 0);
  expect(memory.room("t", "m")).toBe(0);
  free();
  expect(memory.room("t", "m")).toBe(1);
});

it("lines of one tenant with large answers leave room for small lines of another one", () => {
  const memory = new LineMemory();
  for (const model of ["m", "n", "o"]) {
    memory.answered(model, 8 * MIB);
    for (let room = memory.room("large", model); room > 0; room -= 1) memory.taken("large", model, 4 * MIB);
  }
  expect(memory.room("other", "small")).toBeGreaterThan(100);
  memory.taken("other", "m", 64 * MIB);
  expect({ large: memory.room("last", "m"), small: memory.room("last", "small") }).toEqual({ large: 1, small: 16 });
});

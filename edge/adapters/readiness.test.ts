import { afterEach, expect, it, vi } from "vitest";
import { Readiness } from "./readiness.ts";

type Asking = () => Promise<boolean>;
const answers: Asking = async () => true;
const fails = async (): Promise<never> => await Promise.reject(new Error("away"));
const hangs = async (): Promise<never> => await Promise.withResolvers<never>().promise;

afterEach(() => void vi.useRealTimers());

it.each<[string, Asking, Asking, string | null]>([
  ["a store that is away", fails, answers, "the key-value store does not answer"],
  ["a store that hangs", hangs, answers, "the key-value store does not answer"],
  ["a store that was emptied", async () => false, answers, "the key-value store is not filled yet"],
  ["a Cell that is away", answers, fails, "the Cell does not answer"],
  ["a Cell that hangs", answers, hangs, "the Cell does not answer"],
  ["nothing that is missing", answers, answers, null],
])("names %s", async (_, store, cell, missing) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const told = new Readiness(store, cell, () => 0).missingPart();
  await vi.advanceTimersByTimeAsync(1000);
  expect(await told).toBe(missing);
});

it("stays ready while the store and the Cell are away, and only once it was", async () => {
  let isAway = true;
  let nowMs = 0;
  let asked = 0;
  const part = async (): Promise<boolean> => {
    asked += 1;
    return await (isAway ? fails() : answers());
  };
  const readiness = new Readiness(part, part, () => nowMs);
  const told = [await readiness.missingPart()];
  await readiness.missingPart();
  expect(asked).toBe(2);
  isAway = false;
  nowMs = 100;
  told.push(await readiness.missingPart());
  isAway = true;
  told.push(await readiness.missingPart());
  expect(told).toEqual(["the key-value store does not answer", null, null]);
});

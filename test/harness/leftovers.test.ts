/** Each test that `fails` must fail, through the set-up of unit tests; what it left is gone in the next one. */
import { afterAll, expect, it, vi } from "vitest";
import { cleanUp, lookAround } from "./leftovers.ts";

const named = globalThis as unknown as Record<string, unknown>;

const LEAVES: readonly (readonly [left: string, leave: () => unknown])[] = [
  ["globalThis.leftOver", () => Object.assign(globalThis, { leftOver: 1 })],
  ["globalThis.fetch", () => Object.assign(globalThis, { fetch: () => undefined })],
  ["globalThis.setTimeout", () => Object.assign(globalThis, { setTimeout: () => undefined })],
  ["globalThis.navigator", () => Object.defineProperty(globalThis, "navigator", { get: () => undefined })],
  ["globalThis.structuredClone", () => Reflect.deleteProperty(globalThis, "structuredClone")],
  ["Date.now", () => Object.assign(Date, { now: () => 0 })],
  ["Math.random", () => Object.assign(Math, { random: () => 0 })],
  ["performance.now", () => Object.assign(performance, { now: () => 0 })],
  ["crypto.randomUUID", () => Object.assign(crypto, { randomUUID: () => "" })],
  ["console.log", () => Object.assign(console, { log: () => undefined })],
  ["process.env.LEFT_OVER", () => Object.assign(process.env, { LEFT_OVER: "1" })],
  ["setInterval of 1000000 ms", () => void setInterval(() => undefined, 1_000_000)],
];

const atFirst = lookAround();
afterAll(() => expect(lookAround()).toEqual(atFirst));

it.each(LEAVES)("names and undoes %s", (left, leave) => {
  const before = lookAround();
  leave();
  expect([cleanUp(before), cleanUp(before)]).toEqual([[left], []]);
});

it.fails.each(LEAVES)("fails a test that leaves %s", (_, leave) => void leave());

it("accepts an interval that is over, however it ended", () => {
  const before = lookAround();
  const intervals = [1, 2, 3].map(() => setInterval(() => undefined, 1_000_000));
  clearInterval(intervals[0]);
  clearTimeout(intervals[1]);
  intervals[2]?.close();
  expect(cleanUp(before)).toEqual([]);
});

it("undoes what a test did with vi: fakes", () => {
  vi.useFakeTimers();
  setInterval(() => undefined, 1);
  vi.spyOn(Math, "random");
  vi.stubGlobal("leftOver", 1);
  vi.stubEnv("LEFT_OVER", "1");
});

it("undoes what a test did with vi: originals", () => {
  expect({
    fakeTimers: vi.isFakeTimers(),
    spy: vi.isMockFunction(Math.random),
    global: named["leftOver"],
    variable: process.env["LEFT_OVER"],
  }).toEqual({ fakeTimers: false, spy: false, global: undefined, variable: undefined });
});

it("stops the timeouts of earlier tests when a test fakes the clock", () => {
  const fired = vi.fn();
  const left = setTimeout(fired, 1_000_000);
  vi.useFakeTimers();
  expect((left as unknown as { _destroyed: boolean })._destroyed).toBe(true);
});

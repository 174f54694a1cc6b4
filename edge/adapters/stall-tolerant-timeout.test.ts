/** Waiting that ends, and does not take an isolate that was busy for somebody who was slow. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { stallTolerantTimeout, withStallTolerantTimeout } from "./stall-tolerant-timeout.ts";

describe("patience", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it("ends after its time, unless it is called off", async () => {
    const ended: string[] = [];
    stallTolerantTimeout(100, () => ended.push("kept"));
    const callOff = stallTolerantTimeout(100, () => ended.push("called off"));
    await vi.advanceTimersByTimeAsync(99);
    callOff();
    expect(ended).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toEqual(["kept"]);
  });

  it("gives up work that does not end, and answers what does", async () => {
    const never = withStallTolerantTimeout(new Promise(() => undefined), 100);
    await vi.advanceTimersByTimeAsync(100);
    expect(await never).toBeNull();
    expect(await withStallTolerantTimeout(Promise.resolve(7), 100)).toEqual({ value: 7 });
    await expect(withStallTolerantTimeout(Promise.reject(new Error("broken")), 100)).rejects.toThrow("broken");
  });
});

it("hears an answer that came while the isolate was busy for longer than its time", async () => {
  const answer = new Promise((resolve) => setTimeout(() => resolve("here"), 60));
  const heard = withStallTolerantTimeout(answer, 50);
  const busyUntilMs = Date.now() + 200;
  while (Date.now() < busyUntilMs);
  expect(await heard).toEqual({ value: "here" });
});

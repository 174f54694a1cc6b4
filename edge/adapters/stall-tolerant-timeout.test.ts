/** Timeouts that end, and that do not blame the other side for time in which the isolate was busy. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { stallTolerantTimeout, withStallTolerantTimeout } from "./stall-tolerant-timeout.ts";

describe("a stall-tolerant timeout", () => {
  beforeEach(() => vi.useFakeTimers());

  it("ends after its time, unless it is cancelled", async () => {
    const ended: string[] = [];
    stallTolerantTimeout(100, () => ended.push("kept"));
    const cancel = stallTolerantTimeout(100, () => ended.push("called off"));
    await vi.advanceTimersByTimeAsync(99);
    cancel();
    expect(ended).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toEqual(["kept"]);
  });

  it("gives up work that does not end, and returns the result of work that does", async () => {
    const never = withStallTolerantTimeout(new Promise(() => undefined), 100);
    await vi.advanceTimersByTimeAsync(100);
    expect(await never).toBeNull();
    expect(await withStallTolerantTimeout(Promise.resolve(7), 100)).toEqual({ value: 7 });
    await expect(withStallTolerantTimeout(Promise.reject(new Error("broken")), 100)).rejects.toThrow("broken");
  });
});

it("returns an answer that arrived while the isolate was busy for longer than the timeout", async () => {
  const answer = new Promise((resolve) => setTimeout(() => resolve("here"), 60));
  const heard = withStallTolerantTimeout(answer, 50);
  const busyUntilMs = Date.now() + 200;
  while (Date.now() < busyUntilMs);
  expect(await heard).toEqual({ value: "here" });
});

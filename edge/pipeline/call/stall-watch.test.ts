import { beforeEach, describe, expect, it, vi } from "vitest";
import { SharedTimer } from "./shared-timer.ts";
import { StallWatch } from "./stall-watch.ts";

beforeEach(() => void vi.useFakeTimers());

function watching(limitMs: number): { readonly watch: StallWatch; readonly stalls: () => number } {
  let stalls = 0;
  const watch = new StallWatch(new SharedTimer(Date.now), Date.now, limitMs, () => {
    stalls += 1;
  });
  return { watch, stalls: () => stalls };
}

describe("a watch", () => {
  it("reports what takes as long as its limit, and not before", () => {
    const { watch, stalls } = watching(60_000);
    watch.begin();
    vi.advanceTimersByTime(59_999);
    expect(stalls()).toBe(0);
    vi.advanceTimersByTime(1);
    expect(stalls()).toBe(1);
  });

  it("reports none of many operations that end in time, however long they take in total", () => {
    const { watch, stalls } = watching(1000);
    for (let write = 0; write < 50; write += 1) {
      watch.begin();
      vi.advanceTimersByTime(999);
      watch.done();
      vi.advanceTimersByTime(write * 40);
    }
    expect(stalls()).toBe(0);
    watch.begin();
    vi.advanceTimersByTime(1000);
    expect(stalls()).toBe(1);
  });

  it("has no timer once it ends, and never one without a limit", () => {
    const { watch, stalls } = watching(1000);
    watch.begin();
    watch.end();
    expect(vi.getTimerCount()).toBe(0);
    const never = watching(0);
    never.watch.begin();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(1e9);
    expect({ stalls: stalls(), neverStalls: never.stalls() }).toEqual({ stalls: 0, neverStalls: 0 });
  });

  it("reports nothing that ended while the isolate was too busy to notice", () => {
    let nowMs = 0;
    let stalls = 0;
    const clock = (): number => nowMs;
    const watch = new StallWatch(new SharedTimer(clock), clock, 1000, () => {
      stalls += 1;
    });
    watch.begin();
    // when its timer fires, a minute has passed
    nowMs = 60_000;
    vi.advanceTimersByTime(400);
    watch.done();
    vi.advanceTimersByTime(60_000);
    watch.begin();
    expect(stalls).toBe(0);
  });

  it.each([
    [0, 1000],
    [5000, 1000],
    [500, 500],
  ])("of a limit of %i can be made tighter: %i", (limitMs, heldMs) => {
    const { watch, stalls } = watching(limitMs);
    watch.begin();
    watch.tighten(1000);
    watch.begin();
    vi.advanceTimersByTime(heldMs - 1);
    expect(stalls()).toBe(0);
    vi.advanceTimersByTime(1);
    expect(stalls()).toBe(1);
  });
});

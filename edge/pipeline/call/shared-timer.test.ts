/** The waits of one call on one timer. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { SharedTimer } from "./shared-timer.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
});

describe("the waits of a call", () => {
  it("share a timer, and leave none when all of them are cancelled", () => {
    const waits = new SharedTimer(Date.now);
    const run = vi.fn();
    const callOff = [waits.after(1000, run), waits.after(200, run), waits.after(300_000, run)];
    expect(vi.getTimerCount()).toBe(1);
    for (const one of callOff) one();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(1_000_000);
    expect(run).not.toHaveBeenCalled();
  });

  it.each([20, 199, 200, 201, 1000, 300_000])("end after %d ms, whenever they started", (ms) => {
    for (const beginMs of [0, 150, 250]) {
      const waits = new SharedTimer(Date.now);
      const others = vi.fn();
      waits.after(10_000_000, others);
      vi.advanceTimersByTime(beginMs);
      const run = vi.fn();
      waits.after(ms, run);
      vi.advanceTimersByTime(ms - 1);
      expect(run).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1);
      expect(run).toHaveBeenCalledOnce();
      expect(others).not.toHaveBeenCalled();
    }
  });

  it.each([
    ["ahead", 3_600_000],
    ["back", -3_600_000],
  ])("end in time when the clock is set %s", (_, ms) => {
    const waits = new SharedTimer(Date.now);
    const [soon, late] = [vi.fn(), vi.fn()];
    waits.after(1_000, soon);
    waits.after(300_000, late);
    vi.advanceTimersByTime(100);
    vi.setSystemTime(Date.now() + ms);
    vi.advanceTimersByTime(2_000);
    expect([soon, late].map((run) => run.mock.calls.length)).toEqual([1, 0]);
    vi.advanceTimersByTime(298_500);
    expect(late).toHaveBeenCalledOnce();
  });

  it("that are cancelled never fire, before or after the shared timer does; the others do", () => {
    const waits = new SharedTimer(Date.now);
    const [early, late, kept] = [vi.fn(), vi.fn(), vi.fn()];
    const callOffEarly = waits.after(500, early);
    const callOffLate = waits.after(500, late);
    waits.after(500, kept);
    vi.advanceTimersByTime(100);
    callOffEarly();
    vi.advanceTimersByTime(200);
    callOffLate();
    callOffLate();
    vi.advanceTimersByTime(1000);
    expect([early, late, kept].map((run) => run.mock.calls.length)).toEqual([0, 0, 1]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

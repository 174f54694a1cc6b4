/** One timer for the whole page, and none while nobody looks. */
import { describe, expect, it } from "vitest";
import { PageClock } from "./page-clock.ts";

function world() {
  const state = { nowMs: 1000, isHidden: false, timers: new Set<() => void>(), watchers: new Set<() => void>() };
  const kept = (all: Set<() => void>, one: () => void): (() => void) => {
    all.add(one);
    return () => all.delete(one);
  };
  const clock = new PageClock({
    now: () => state.nowMs,
    every: (_, tick) => kept(state.timers, tick),
    isHidden: () => state.isHidden,
    onVisibility: (changed) => kept(state.watchers, changed),
  });
  const pass = (ms: number): void => {
    state.nowMs += ms;
    for (const tick of state.timers) tick();
  };
  const show = (isHidden: boolean): void => {
    state.isHidden = isHidden;
    for (const changed of state.watchers) changed();
  };
  return { state, clock, pass, show };
}

describe("PageClock", () => {
  it("has one timer for all listeners, and none after the last one has left", () => {
    const { state, clock, pass } = world();
    let ticks = 0;
    const leave = [1, 2, 3].map(() => clock.subscribe(() => (ticks += 1)));
    expect(state.timers.size).toBe(1);
    pass(1000);
    expect(ticks).toBe(3);
    for (const end of leave) end();
    for (const end of leave) end();
    expect({ timerCount: state.timers.size, watcherCount: state.watchers.size }).toEqual({
      timerCount: 0,
      watcherCount: 0,
    });
  });

  it("counts a listener that is given twice as two", () => {
    const { state, clock } = world();
    const same = (): void => undefined;
    const [first, second] = [clock.subscribe(same), clock.subscribe(same)];
    first();
    expect(state.timers.size).toBe(1);
    second();
    expect(state.timers.size).toBe(0);
  });

  it("stands still between ticks, and shows the true time when nobody listens", () => {
    const { state, clock, pass } = world();
    const leave = clock.subscribe(() => undefined);
    state.nowMs = 1500;
    expect(clock.nowMs()).toBe(1000);
    pass(500);
    expect(clock.nowMs()).toBe(2000);
    leave();
    state.nowMs = 3000;
    expect(clock.nowMs()).toBe(3000);
  });

  it("rests while the page is hidden, and ticks at once when it is shown again", () => {
    const { state, clock, show } = world();
    let ticks = 0;
    const leave = clock.subscribe(() => (ticks += 1));
    show(true);
    show(true);
    expect(state.timers.size).toBe(0);
    state.nowMs = 90_000;
    show(false);
    expect({ ticks, timerCount: state.timers.size, nowMs: clock.nowMs() }).toEqual({
      ticks: 1,
      timerCount: 1,
      nowMs: 90_000,
    });
    leave();
    expect({ timerCount: state.timers.size, watcherCount: state.watchers.size }).toEqual({
      timerCount: 0,
      watcherCount: 0,
    });
  });

  it("starts without a timer on a hidden page", () => {
    const { state, clock, show } = world();
    state.isHidden = true;
    clock.subscribe(() => undefined);
    expect(state.timers.size).toBe(0);
    show(false);
    expect(state.timers.size).toBe(1);
  });
});

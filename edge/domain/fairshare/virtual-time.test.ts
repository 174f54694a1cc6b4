import { expect, it } from "vitest";
import { VirtualTime } from "./virtual-time.ts";

it("never runs back, and is 0 again after the whole Cell was idle", () => {
  const busyPeriod = { count: 0 };
  const time = new VirtualTime(busyPeriod);
  time.advance(5, 7);
  time.advance(3, 3);
  expect(time.score).toBe(5);
  time.advance(undefined, 6);
  expect(time.score).toBe(6);
  busyPeriod.count += 1;
  expect(time.score).toBe(0);
});

it("rescales a lead with the heavier of the old and the new weight", () => {
  const time = new VirtualTime({ count: 0 }, 4);
  expect([time.reweighed(10, 100, 50), time.reweighed(10, 100, 200), time.reweighed(0, 300, 100)]).toEqual([10, 7, 0]);
});

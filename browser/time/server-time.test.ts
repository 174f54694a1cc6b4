/** What a page takes for now is the server's time, when the clock of the machine is wrong. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { learnServerTime, serverNowMs, serverTimeOf } from "./server-time.ts";

const NOW = Date.UTC(2026, 9, 25, 0, 30);
const DAY_MS = 86_400_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => learnServerTime(Date.now()));

it.each([DAY_MS, -DAY_MS, 61_000])("follows a server that is %d ms away", (awayMs) => {
  learnServerTime(NOW + awayMs);
  expect(serverNowMs()).toBe(NOW + awayMs);
  vi.setSystemTime(NOW + 5000);
  expect(serverNowMs()).toBe(NOW + awayMs + 5000);
  // the clock was set right meanwhile
  vi.setSystemTime(NOW + awayMs);
  learnServerTime(NOW + awayMs + 2000);
  expect(serverNowMs()).toBe(NOW + awayMs);
});

it("returns by the server's clock when something was read, and 0 before", () => {
  learnServerTime(NOW + DAY_MS);
  expect({ read: serverTimeOf(NOW - 7000), unread: serverTimeOf(0) }).toEqual({ read: NOW + DAY_MS - 7000, unread: 0 });
});

it.each([NOW + 60_000, NOW - 59_000, NOW])("keeps its own clock for one that is as good as the same", (saidMs) => {
  learnServerTime(saidMs);
  expect(serverNowMs()).toBe(NOW);
});

it.each([null, undefined, "1795543650532", Number.NaN, Number.POSITIVE_INFINITY, -1, 0, 1.5, 2 ** 60])(
  "takes %s for no time",
  (said) => {
    learnServerTime(said);
    expect(serverNowMs()).toBe(NOW);
  },
);

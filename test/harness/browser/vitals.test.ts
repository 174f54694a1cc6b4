/** What a page's load would take over a slow line (docs/rules/tests.md#pages). */
import { expect, it } from "vitest";
import { slowPaintMs } from "./vitals.ts";

const at = (startMs: number, endMs: number, bytes = 0, url = `${startMs} ${endMs}`) => ({ url, startMs, endMs, bytes });
const page = (largestPaintMs: number | null, ...resources: readonly ReturnType<typeof at>[]) =>
  slowPaintMs({ layoutShift: 0, shifts: [], largestPaintMs, resources });

it("is a round trip for each request that waited for another, and two for the connection", () => {
  expect(page(100, at(0, 10))).toBe(450);
  expect(page(100, at(0, 10), at(10, 20), at(11, 30))).toBe(600);
  expect(page(100, at(0, 10), at(11, 30), at(10, 20), at(25, 40))).toBe(750);
});

it("is the time of the bytes that came before the paint", () => {
  expect(page(100, at(0, 10, 20_000), at(1, 99, 20_000), at(1, 101, 20_000))).toBe(650);
  expect(page(null, at(0, 10, 20_000), at(1, 101, 20_000))).toBe(650);
});

it("does not count what is read again", () => {
  expect(page(100, at(0, 10, 20_000, "list"), at(40, 50, 20_000, "list"))).toBe(page(100, at(0, 10, 20_000)));
});

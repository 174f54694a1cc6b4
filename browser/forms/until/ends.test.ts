import { expect, it } from "vitest";
import { endAfter, LENGTHS_MS, typedEnd } from "./ends.ts";

const NOW_MS = Date.parse("2026-11-30T12:00:00Z");

it("ends after its length, or at a typed time that has not passed", () => {
  expect(endAfter(NOW_MS, LENGTHS_MS["24h"])).toBe("2026-12-01T12:00:00.000Z");
  expect(typedEnd(NOW_MS + 1000, NOW_MS)).toBe("2026-11-30T12:00:01.000Z");
  expect({ past: typedEnd(NOW_MS, NOW_MS), none: typedEnd(null, NOW_MS) }).toEqual({ past: null, none: null });
});

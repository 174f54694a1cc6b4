import { describe, expect, it } from "vitest";
import { monthBounds, monthOf } from "./zone-months.ts";

describe("months in zones", () => {
  it("are those of the local calendar", () => {
    const newYear = Date.UTC(2026, 0, 1, 2);
    expect(monthOf(newYear, "UTC")).toBe("2026-01");
    expect(monthOf(newYear, "America/New_York")).toBe("2025-12");
    expect(monthOf(newYear - 3 * 3_600_000, "Asia/Tokyo")).toBe("2026-01");
    expect(monthOf(newYear, "Atlantis/Nowhere")).toBe("2026-01");
  });

  it("start and end at local midnight, summer time included", () => {
    expect(monthBounds(Date.UTC(2026, 2, 20), "Europe/Berlin")).toEqual({
      startMs: Date.UTC(2026, 1, 28, 23),
      endMs: Date.UTC(2026, 2, 31, 22),
    });
    expect(monthBounds(Date.UTC(2026, 11, 31, 23), "Pacific/Kiritimati")).toEqual({
      startMs: Date.UTC(2026, 11, 31, 10),
      endMs: Date.UTC(2027, 0, 31, 10),
    });
    expect(monthBounds(Date.UTC(2026, 11, 5), "UTC")).toEqual({
      startMs: Date.UTC(2026, 11, 1),
      endMs: Date.UTC(2027, 0, 1),
    });
  });
});

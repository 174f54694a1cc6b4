/** Editing the week changes what was meant and nothing else, and "open now" is what the gateway decides. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isWithinWindows, type WeeklyWindow } from "../../shared/access/access-window.ts";
import {
  mergedWindows,
  openMinutes,
  openNow,
  openSpells,
  windowsBetween,
  withoutSpell,
  withPart,
} from "./week-windows.ts";

const minutes = fc.uniqueArray(fc.nat(1440), { minLength: 2, maxLength: 2 }).map((pair) => pair.sort((a, b) => a - b));
const window = fc
  .tuple(fc.nat(6), minutes)
  .map(([day, [start_min = 0, end_min = 1440]]): WeeklyWindow => ({ day, start_min, end_min }));
const windows = fc.array(window, { maxLength: 12 });
const zone = fc.constantFrom("Asia/Kolkata", "America/Los_Angeles", "UTC", "Australia/Lord_Howe");
const CHANGES_MS = ["2026-03-08T10:00Z", "2026-11-01T09:00Z", "2026-04-04T15:00Z", "2026-10-03T15:30Z"].map((at) =>
  Date.parse(at),
);
const instant = fc.oneof(
  fc.integer({ min: Date.UTC(2025, 0, 1), max: Date.UTC(2027, 0, 1) }),
  fc
    .tuple(fc.constantFrom(...CHANGES_MS), fc.integer({ min: -172_800_000, max: 172_800_000 }))
    .map(([at, by]) => at + by),
);

const isOpenAt = (list: readonly WeeklyWindow[], day: number, minute: number): boolean =>
  list.length === 0 || list.some((one) => one.day === day && one.start_min <= minute && minute < one.end_min);

describe("withPart", () => {
  it("opens or closes the part, and leaves every other minute of the week", () => {
    fc.assert(
      fc.property(
        windows,
        window,
        fc.boolean(),
        fc.array(fc.tuple(fc.nat(6), fc.nat(1439)), { maxLength: 30 }),
        (list, part, isOpen, times) => {
          const edited = withPart(list, part, isOpen);
          if (edited === null) {
            expect(isOpen).toBe(false);
            expect(mergedWindows([...list, part])).toEqual(mergedWindows([part]));
            return;
          }
          for (const [day, minute] of [...times, [part.day, part.start_min], [part.day, part.end_min - 1]] as const) {
            const isInPart = isOpenAt([part], day, minute);
            expect(isOpenAt(edited, day, minute)).toBe(isInPart ? isOpen : isOpenAt(list, day, minute));
          }
        },
      ),
    );
  });

  it("writes the whole week as no windows, and refuses a week without any open minute", () => {
    const day = (which: number): WeeklyWindow => ({ day: which, start_min: 0, end_min: 1440 });
    const sixDays = withPart([], day(3), false);
    expect(sixDays).toEqual([0, 1, 2, 4, 5, 6].map(day));
    expect(withPart(sixDays ?? [], day(3), true)).toEqual([]);
    expect(withPart([day(3)], day(3), false)).toBeNull();
  });

  it("ignores a window that is not valid", () => {
    const list = [{ day: 1, start_min: 60, end_min: 120 }];
    for (const part of [
      { day: 7, start_min: 0, end_min: 60 },
      { day: 1, start_min: 60, end_min: 60 },
      { day: 1, start_min: Number.NaN, end_min: 60 },
      { day: 1, start_min: 0, end_min: 1e308 },
    ])
      expect(withPart(list, part, true)).toBe(list);
    const broken = [{ day: 9, start_min: 0, end_min: 60 }];
    expect(openMinutes(broken, { day: 1, start_min: 0, end_min: 1440 })).toBe(0);
  });
});

describe("windows", () => {
  it("that are merged are open at the same minutes, in order, apart from each other", () => {
    fc.assert(
      fc.property(windows, fc.nat(6), fc.nat(1439), (list, day, minute) => {
        const merged = mergedWindows(list);
        if (list.length > 0) expect(isOpenAt(merged, day, minute)).toBe(isOpenAt(list, day, minute));
        for (const [at, next] of merged.slice(1).entries()) {
          const one = merged[at];
          expect(one !== undefined && (one.day < next.day || one.end_min < next.start_min)).toBe(true);
        }
      }),
    );
  });

  it("across midnight are two, and are read as one", () => {
    const night = windowsBetween(5, 22 * 60, 6 * 60);
    expect(night).toEqual([
      { day: 5, start_min: 1320, end_min: 1440 },
      { day: 6, start_min: 0, end_min: 360 },
    ]);
    expect(openSpells(night)).toEqual([{ startDay: 5, startMin: 1320, endDay: 6, endMin: 360 }]);
    expect(openSpells(windowsBetween(6, 1320, 360))).toEqual([{ startDay: 6, startMin: 1320, endDay: 0, endMin: 360 }]);
    expect(windowsBetween(2, 60, 0)).toEqual([{ day: 2, start_min: 60, end_min: 1440 }]);
    expect(windowsBetween(2, 0, 1440)).toEqual([{ day: 2, start_min: 0, end_min: 1440 }]);
  });

  it("as spells have the same minutes", () => {
    fc.assert(
      fc.property(windows, (list) => {
        const length = ({ startDay, startMin, endDay, endMin }: ReturnType<typeof openSpells>[number]): number => {
          const days = (endDay - startDay + 7) % 7;
          return days * 1440 + endMin - startMin + (days === 0 && endMin <= startMin ? 7 * 1440 : 0);
        };
        const inSpells = openSpells(list).reduce((sum, spell) => sum + length(spell), 0);
        const inWindows = mergedWindows(list).reduce((sum, one) => sum + one.end_min - one.start_min, 0);
        expect(inSpells).toBe(inWindows);
      }),
    );
  });
});

describe("withoutSpell", () => {
  it("removes one open time and leaves the others", () => {
    fc.assert(
      fc.property(windows, fc.nat(20), (list, which) => {
        const spells = openSpells(list);
        const spell = spells[which % Math.max(1, spells.length)];
        if (spell === undefined) return;
        const rest = withoutSpell(list, spell);
        const others = spells.filter((one) => one !== spell);
        if (rest === null) expect(others).toEqual([]);
        else expect(openSpells(rest)).toEqual(others);
      }),
    );
  });
});

describe("openNow", () => {
  it("says what the gateway decides, until the moment that it names", () => {
    fc.assert(
      fc.property(windows, zone, instant, (list, name, nowMs) => {
        const { isOpen, changesAtMs } = openNow(list, name, nowMs);
        expect(isOpen).toBe(isWithinWindows(list, name, nowMs));
        if (changesAtMs === null) return;
        expect(changesAtMs).toBeGreaterThan(nowMs);
        expect(isWithinWindows(list, name, changesAtMs)).toBe(!isOpen);
        for (const part of [0.25, 0.5, 0.75, 1]) {
          const between = Math.min(changesAtMs - 1, Math.floor(nowMs + (changesAtMs - nowMs) * part));
          expect(isWithinWindows(list, name, between)).toBe(isOpen);
        }
      }),
    );
  });

  it("finds an opening that a change of clocks skips a week later, and knows what never changes", () => {
    const skipped = [{ day: 0, start_min: 125, end_min: 170 }];
    const eve = Date.parse("2026-03-08T08:00Z");
    expect(openNow(skipped, "America/Los_Angeles", eve).changesAtMs).toBe(Date.parse("2026-03-15T09:05Z"));
    expect(openNow([], "UTC", eve)).toEqual({ isOpen: true, changesAtMs: null });
    expect(openNow([{ day: 9, start_min: 0, end_min: 9 }], "UTC", eve)).toEqual({ isOpen: false, changesAtMs: null });
  });
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { expiredBackups, exportedAtMs, newestBackup } from "./retention.ts";

const DAY_MS = 86_400_000;
const nameOf = (ms: number): string => `gateway-backup-${new Date(ms).toISOString().replace(/[-:]|\.\d+/g, "")}.json`;
const FROM_MS = Date.UTC(2026, 0, 1);

it("reads the time in a name, and nothing in any other", () => {
  expect(exportedAtMs(nameOf(FROM_MS))).toBe(FROM_MS);
  for (const name of [
    "notes.json",
    "gateway-backup-20261301T000000Z.json",
    "gateway-backup-20260101T000000Z.json.draft",
  ])
    expect(exportedAtMs(name)).toBeNaN();
});

it("keeps the newest, none that is too old, and always the one that was just stored", () => {
  const times = fc.uniqueArray(fc.integer({ min: 0, max: 400 }), { maxLength: 30 });
  fc.assert(
    fc.property(
      times,
      fc.nat(400),
      fc.integer({ min: 1, max: 20 }),
      fc.nat(40),
      fc.integer({ min: 0, max: 400 }),
      (days, storedDay, keep, keepDays, today) => {
        const stored = nameOf(FROM_MS + storedDay * DAY_MS);
        const names = ["notes.json", stored, ...days.map((day) => nameOf(FROM_MS + day * DAY_MS))];
        const nowMs = FROM_MS + today * DAY_MS;
        const expired = expiredBackups(names, stored, { keep, keepDays }, nowMs);
        const kept = [...new Set(names)].filter((name) => !expired.includes(name) && name !== "notes.json");
        expect(expired).not.toContain(stored);
        expect(expired).not.toContain("notes.json");
        expect(kept.length).toBeLessThanOrEqual(keep);
        const others = kept.filter((name) => name !== stored);
        const tooOld = (name: string): boolean => keepDays > 0 && nowMs - exportedAtMs(name) > keepDays * DAY_MS;
        expect(others.filter(tooOld)).toEqual([]);
        const young = [...new Set(names)].filter((name) => name !== stored && name !== "notes.json" && !tooOld(name));
        expect(others.toSorted()).toEqual(young.toSorted().slice(Math.max(0, young.length - keep + 1)));
      },
    ),
    { numRuns: 200 },
  );
});

it("finds the newest", () => {
  expect(newestBackup([nameOf(FROM_MS), "zzz.json", nameOf(FROM_MS + DAY_MS)])).toBe(nameOf(FROM_MS + DAY_MS));
  expect(newestBackup(["zzz.json"])).toBeUndefined();
});

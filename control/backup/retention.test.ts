import fc from "fast-check";
import { expect, it } from "vitest";
import { backupName, exportedAtMs, gatewayOf, isBackupName } from "./backup-name.ts";
import { expiredBackups, newestBackup } from "./retention.ts";

const DAY_MS = 86_400_000;
const [MINE, OTHER] = ["0a1b2c3d4e5f", "ffffffffffff"];
const nameOf = (ms: number, gateway: string | undefined = MINE): string => backupName(new Date(ms), gateway);
const exported = (ms: number): string => backupName(new Date(ms));
const FROM_MS = Date.UTC(2026, 0, 1);

it("reads time and gateway in a name, and nothing in any other", () => {
  expect({ exportedAtMs: exportedAtMs(nameOf(FROM_MS)), gateway: gatewayOf(nameOf(FROM_MS)) }).toEqual({
    exportedAtMs: FROM_MS,
    gateway: MINE,
  });
  expect({ exportedAtMs: exportedAtMs(exported(FROM_MS)), gateway: gatewayOf(exported(FROM_MS)) }).toEqual({
    exportedAtMs: FROM_MS,
    gateway: null,
  });
  for (const name of [
    "notes.json",
    "gateway-backup-20261301T000000Z.json",
    "gateway-backup-20260101T000000Z.json.draft",
    "gateway-backup-20260101T000000Z-mine.json",
    "gateway-backup-20260101T000000Z-0A1B2C3D4E5F.json",
  ]) {
    expect(exportedAtMs(name)).toBeNaN();
    expect(isBackupName(name)).toBe(false);
  }
});

const times = fc.uniqueArray(fc.integer({ min: 0, max: 400 }), { maxLength: 30 });
const dayMs = (day: number): number => FROM_MS + day * DAY_MS;

it("keeps the newest, none that is too old, and always the one that was just stored", () => {
  fc.assert(
    fc.property(
      times,
      fc.integer({ min: 1, max: 20 }),
      fc.nat(40),
      fc.integer({ min: 0, max: 400 }),
      (days, keep, keepDays, today) => {
        const nowMs = dayMs(today);
        const stored = nameOf(nowMs);
        const names = ["notes.json", stored, ...days.map((day) => nameOf(dayMs(day)))];
        const expired = expiredBackups(names, stored, { keep, keepDays }, nowMs);
        const isPast = (name: string): boolean => exportedAtMs(name) <= nowMs;
        const past = [...new Set(names)].filter((name) => name !== "notes.json" && isPast(name));
        const kept = past.filter((name) => !expired.includes(name));
        expect(expired).not.toContain(stored);
        expect(expired.filter((name) => !past.includes(name))).toEqual([]);
        expect(kept.length).toBeLessThanOrEqual(keep);
        const tooOld = (name: string): boolean => keepDays > 0 && nowMs - exportedAtMs(name) > keepDays * DAY_MS;
        expect(kept.filter(tooOld)).toEqual([]);
        const young = past.filter((name) => !tooOld(name)).toSorted();
        expect(kept.toSorted()).toEqual(young.slice(Math.max(0, young.length - keep)));
      },
    ),
    { numRuns: 200 },
  );
});

it("removes only backups of the same gateway, whatever else is in the place", () => {
  fc.assert(
    fc.property(
      times,
      times,
      times,
      fc.integer({ min: 1, max: 5 }),
      fc.nat(400),
      (mine, theirs, plain, keep, today) => {
        const stored = nameOf(dayMs(today));
        const own = mine.map((day) => nameOf(dayMs(day)));
        const others = [...theirs.map((day) => nameOf(dayMs(day), OTHER)), ...plain.map((day) => exported(dayMs(day)))];
        const expired = expiredBackups([...own, ...others, stored], stored, { keep, keepDays: 30 }, dayMs(today));
        expect(expired.filter((name) => gatewayOf(name) !== MINE)).toEqual([]);
        expect(expired).toEqual(expiredBackups([...own, stored], stored, { keep, keepDays: 30 }, dayMs(today)));
        expect(
          expiredBackups([...own, ...others], exported(dayMs(today)), { keep, keepDays: 30 }, dayMs(today)),
        ).toEqual([]);
      },
    ),
    { numRuns: 100 },
  );
});

it("finds the newest of the only gateway, else asks whose", () => {
  const nowMs = dayMs(5);
  const [first, second, ahead] = [nameOf(dayMs(1)), nameOf(dayMs(2)), nameOf(dayMs(9))];
  expect(newestBackup([first, "zzz.json", second, exported(dayMs(3))], nowMs)).toEqual({
    name: second,
    gateways: [MINE],
  });
  expect(newestBackup([exported(dayMs(3)), exported(dayMs(1))], nowMs).name).toBe(exported(dayMs(3)));
  expect(newestBackup([first, second, ahead], nowMs).name).toBe(second);
  expect(newestBackup([ahead], nowMs).name).toBe(ahead);
  const both = [first, nameOf(dayMs(3), OTHER)];
  expect(newestBackup(both, nowMs)).toEqual({ name: undefined, gateways: [MINE, OTHER] });
  expect(newestBackup(both, nowMs, MINE).name).toBe(first);
  expect(newestBackup(both, nowMs, "000000000000").name).toBeUndefined();
  expect(newestBackup(["zzz.json"], nowMs)).toEqual({ name: undefined, gateways: [] });
});

/** Scheduled backups of a really stored configuration, into a real folder. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import type { AttentionItem } from "../../shared/schema/attention.ts";
import type { Backup } from "../../shared/schema/backup.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import type { RaisedAlert } from "../alerts/alert-sink.ts";
import { backupSchedule } from "../db/schema/backup-schedule.ts";
import { backupGauges } from "../metrics/backup-gauges.ts";
import { BackupSchedule } from "./backup-schedule.ts";
import { folderPlace } from "./places/folder-place.ts";

const HOUR_SECS = 3600;
let control: TestControl;
let folder: string;
let nowMs = Date.now();
const raised: RaisedAlert[] = [];
const lines: Record<string, unknown>[] = [];
const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });

beforeAll(async () => {
  control = await startControl({ now: () => new Date(nowMs) });
  await control.request("POST", "/api/v1/tenants", { name: "kept" });
});
afterAll(async () => await control.close());
beforeEach(() => {
  nowMs = Date.now();
  folder = mkdtempSync(join(tmpdir(), "gateway-backups-"));
});
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await control.connection.db.delete(backupSchedule);
  raised.length = 0;
  lines.length = 0;
});

const scheduled = (to = folder, { keep = 3, ending = new AbortController().signal } = {}): BackupSchedule =>
  new BackupSchedule({
    ctx: control.ctx,
    backup: { place: folderPlace(to), intervalSecs: HOUR_SECS, keep, keepDays: 0 },
    version: "1.2.3",
    sink: { take: async (alerts) => void raised.push(...alerts) },
    cell: "here",
    ending,
    log,
  });

const state = async () => (await control.connection.db.select().from(backupSchedule))[0];
const backups = (): readonly string[] => readdirSync(folder).toSorted();

/** Lets an hour pass: for the schedule, whose times are the database's, and for the names of files. */
async function anHourPasses(): Promise<void> {
  nowMs += HOUR_SECS * 1000;
  await control.connection.db.update(backupSchedule).set({
    last_ok_at: sql`last_ok_at - interval '1 hour'`,
    not_before: sql`not_before - interval '1 hour'`,
  });
}

const attention = async (): Promise<readonly AttentionItem[]> => {
  const answer = await control.request("GET", "/api/v1/overview/attention");
  return ((await answer.json()) as AttentionItem[]).filter(({ kind }) => kind === "backup_failed");
};

it("stores the whole configuration at once, then when the interval is over, for its owner alone", async () => {
  const schedule = scheduled();
  expect(await schedule.run()).toEqual({ backups: 1, removed: 0 });
  expect(await schedule.run()).toEqual({ backups: 0, removed: 0 });
  const [name = ""] = backups();
  expect(backups()).toHaveLength(1);
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  const file = JSON.parse(readFileSync(join(folder, name), "utf8")) as Backup;
  expect(file.gateway_version).toBe("1.2.3");
  expect(file.data.tenants.map((tenant) => tenant.name)).toContain("kept");
  expect(await state()).toMatchObject({ last_name: name, not_before: null, failing_since: null });
  await anHourPasses();
  expect(await schedule.run()).toEqual({ backups: 1, removed: 0 });
  expect(backups()).toHaveLength(2);
});

it("keeps as many as it should, and touches nothing else in the folder", async () => {
  writeFileSync(join(folder, "notes.txt"), "mine");
  const schedule = scheduled(folder, { keep: 2 });
  for (let count = 0; count < 4; count += 1) {
    await schedule.run();
    await anHourPasses();
  }
  expect(backups()).toHaveLength(3);
  expect(backups()).toContain("notes.txt");
  expect((await state())?.last_name).toBe(backups().at(-2));
});

it("is made once when several control services find it due", async () => {
  const all = await Promise.all([scheduled(), scheduled(), scheduled()].map(async (each) => await each.run()));
  expect(all.reduce((sum, { backups: count }) => sum + count, 0)).toBe(1);
  expect(backups()).toHaveLength(1);
});

it("says why it cannot be made, tries again later, and leaves the older ones", async () => {
  await scheduled().run();
  const [good] = backups();
  const path = join(folder, "file");
  writeFileSync(path, "no folder");
  const failing = scheduled(path);
  await expect(failing.run()).rejects.toThrow("a part of the path is no folder");
  expect(raised).toMatchObject([{ issueKey: "backup_failed", detail: `${path}: a part of the path is no folder` }]);
  expect(lines.at(-1)).toMatchObject({ event: "backup_failed", reason: "a part of the path is no folder" });
  expect(await attention()).toMatchObject([
    { name: "Backup", detail: `${path}: a part of the path is no folder; none yet` },
  ]);
  expect(await failing.run()).toEqual({ backups: 0, removed: 0 });
  rmSync(path);
  await anHourPasses();
  expect(await failing.run()).toEqual({ backups: 1, removed: 0 });
  expect(await attention()).toEqual([]);
  expect(backups()).toContain(good);
});

it("is missed when nobody makes it for two intervals", async () => {
  await scheduled().run();
  expect(await attention()).toEqual([]);
  nowMs += 3 * HOUR_SECS * 1000;
  const [item] = await attention();
  expect(item?.detail).toContain(`${folder}: no control service makes it; the last is of `);
});

it("goes on after a process that died at any line", async () => {
  const schedule = scheduled(folder, { keep: 1 });
  // right after it had taken the turn: the next one begins when that time is over
  await schedule.declare();
  await control.connection.db.update(backupSchedule).set({ not_before: sql`now() + interval '9 minutes'` });
  expect(await schedule.run()).toEqual({ backups: 0, removed: 0 });
  await anHourPasses();
  expect(await schedule.run()).toEqual({ backups: 1, removed: 0 });
  const [first = ""] = backups();

  // in the middle of a file: the draft is no backup
  const draft = join(folder, ".gateway-backup-20260101T000000Z.json.1.draft");
  writeFileSync(draft, '{"half":');
  expect(await folderPlace(folder).names(new AbortController().signal)).toEqual([first]);

  // stored, and not written down: it is made again, and only then the older one goes
  await control.connection.db.update(backupSchedule).set({ last_ok_at: null, last_name: null });
  nowMs += 1000;
  expect(await schedule.run()).toEqual({ backups: 1, removed: 1 });
  expect(backups().filter((name) => !name.startsWith("."))).toEqual([(await state())?.last_name]);

  // before it removed older ones: the next one does
  writeFileSync(join(folder, first), "{}");
  await anHourPasses();
  expect(await schedule.run()).toEqual({ backups: 1, removed: 2 });
});

it("is given up when the service ends, for another one to begin at once", async () => {
  const ending = new AbortController();
  ending.abort();
  await expect(scheduled(folder, { ending: ending.signal }).run()).rejects.toThrow();
  expect(backups().filter((name) => !name.startsWith("."))).toEqual([]);
  expect([raised, (await state())?.not_before, (await state())?.failing_since]).toEqual([[], null, null]);
  expect(await scheduled().run()).toEqual({ backups: 1, removed: 0 });
});

it("does not wait for a time that a clock which was set back has left", async () => {
  const schedule = scheduled();
  await schedule.run();
  nowMs += 1000;
  const ahead = sql`now() + interval '3 days'`;
  await control.connection.db.update(backupSchedule).set({ last_ok_at: ahead, not_before: ahead });
  expect(await schedule.run()).toEqual({ backups: 1, removed: 0 });
});

it("begins anew with another place, and is forgotten when it is switched off", async () => {
  await scheduled().run();
  const other = join(folder, "deeper/other");
  mkdirSync(join(folder, "deeper"));
  expect(await scheduled(other).run()).toEqual({ backups: 1, removed: 0 });
  expect((await state())?.place).toBe(other);
  const { ctx } = control;
  const off = new BackupSchedule({
    ctx,
    backup: null,
    version: "1.2.3",
    sink: { take: async () => undefined },
    cell: "here",
    ending: new AbortController().signal,
    log,
  });
  await off.declare();
  expect([await off.run(), await state()]).toEqual([{ backups: 0, removed: 0 }, undefined]);
});

it("is in the metrics", async () => {
  const gauges = backupGauges(control.connection.db);
  const values = async (): Promise<readonly (number | undefined)[]> =>
    await Promise.all(gauges.map(async (gauge) => (await gauge.get()).values[0]?.value));
  expect(await values()).toEqual([0, 0]);
  await scheduled().run();
  const lastSecs = ((await state())?.last_ok_at?.getTime() ?? Number.NaN) / 1000;
  expect(await values()).toEqual([lastSecs, HOUR_SECS]);
});

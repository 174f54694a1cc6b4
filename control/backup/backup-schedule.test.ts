/**
 * Scheduled backups of a really stored configuration, into a real folder.
 *
 * @module-tag check
 */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import type { AttentionItem } from "../../shared/schema/attention.ts";
import type { Backup } from "../../shared/schema/backup.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import type { RaisedAlert } from "../kernel/alert-sink.ts";
import { backupGauges } from "./backup-gauges.ts";
import { backupName, exportedAtMs, gatewayOf, isBackupName } from "./backup-name.ts";
import { BackupSchedule } from "./backup-schedule.ts";
import { identityOf } from "./gateway-identity.ts";
import { gatewayIdentity } from "./identity-table.ts";
import { folderPlace } from "./places/folder-place.ts";
import { backupPlaces, backupSchedule } from "./schedule-table.ts";

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
  await control.connection.db.delete(backupPlaces);
  raised.length = 0;
  lines.length = 0;
});

const scheduled = (
  to = folder,
  { keep = 3, ending = new AbortController().signal, of = control, databaseFolder = "" } = {},
): BackupSchedule =>
  new BackupSchedule({
    ctx: of.ctx,
    databaseFolder,
    backup: { place: folderPlace(to), intervalSecs: HOUR_SECS, keep, keepDays: 0 },
    version: "1.2.3",
    sink: { take: async (alerts) => void raised.push(...alerts) },
    cell: "here",
    ending,
    log,
  });

const state = async () => (await control.connection.db.select().from(backupSchedule))[0];
const backups = (): readonly string[] => readdirSync(folder).toSorted();

const anHourAgo = (name: string): string =>
  isBackupName(name) ? backupName(new Date(exportedAtMs(name) - HOUR_SECS * 1000), gatewayOf(name) ?? undefined) : name;

/** Lets an hour pass: what is in the rows and in the names of files, which have the database's time, is an hour older. */
async function anHourPasses(): Promise<void> {
  nowMs += HOUR_SECS * 1000;
  for (const name of backups()) renameSync(join(folder, name), join(folder, anHourAgo(name)));
  const last = await state();
  for (const table of [backupSchedule, backupPlaces])
    await control.connection.db.update(table).set({
      last_ok_at: sql`last_ok_at - interval '1 hour'`,
      not_before: sql`not_before - interval '1 hour'`,
    });
  if (last?.last_name) await control.connection.db.update(backupSchedule).set({ last_name: anHourAgo(last.last_name) });
}

const attention = async (): Promise<readonly AttentionItem[]> => {
  const answer = await control.request("GET", "/api/v1/overview/attention");
  return ((await answer.json()) as AttentionItem[]).filter(({ kind }) => kind === "backup_failed");
};

it("stores the whole configuration at once and after each interval, readable by its owner only", async () => {
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
  const [good = ""] = backups();
  const path = join(folder, "file");
  writeFileSync(path, "no folder");
  const failing = scheduled(path);
  const reason = "a file is in the place of a folder (EEXIST)";
  await expect(failing.run()).rejects.toThrow(reason);
  expect(raised).toMatchObject([{ issueKey: "backup_failed", detail: `GATEWAY_BACKUP_TO ${path}: ${reason}` }]);
  expect(lines.at(-1)).toMatchObject({ event: "backup_failed", variable: "GATEWAY_BACKUP_TO", place: path, reason });
  expect(await attention()).toMatchObject([{ name: "Backup", detail: `${path}: ${reason}; none yet` }]);
  expect(await failing.run()).toEqual({ backups: 0, removed: 0 });
  rmSync(path);
  await anHourPasses();
  expect(await failing.run()).toEqual({ backups: 1, removed: 0 });
  expect(await attention()).toEqual([]);
  expect(backups()).toContain(anHourAgo(good));
});

it("is missed when nobody makes it for two intervals", async () => {
  await scheduled().run();
  expect(await attention()).toEqual([]);
  nowMs += 3 * HOUR_SECS * 1000;
  const [item] = await attention();
  expect(item?.detail).toContain(`${folder}: no control service makes it; the last one is from `);
});

it("resumes after a process that died at any line", async () => {
  const schedule = scheduled(folder, { keep: 1 });
  // right after it had taken the turn: the next one begins when that time is over
  await schedule.declare();
  await control.connection.db.update(backupSchedule).set({ not_before: sql`now() + interval '9 minutes'` });
  expect(await schedule.run()).toEqual({ backups: 0, removed: 0 });
  await anHourPasses();
  expect(await schedule.run()).toEqual({ backups: 1, removed: 0 });
  await anHourPasses();
  const [first = ""] = backups();

  // in the middle of a file: the draft is no backup
  const draft = join(folder, ".gateway-backup-20260101T000000Z.json.1.draft");
  writeFileSync(draft, '{"half":');
  expect(await folderPlace(folder).names(new AbortController().signal)).toEqual([first]);

  // stored, and not written down: it is made again, and only then the older one goes
  await control.connection.db.update(backupSchedule).set({ last_ok_at: null, last_name: null });
  expect(await schedule.run()).toEqual({ backups: 1, removed: 1 });
  expect(backups().filter((name) => !name.startsWith("."))).toEqual([(await state())?.last_name]);

  // before it removed older ones: the next one does
  writeFileSync(join(folder, first), "{}");
  await anHourPasses();
  expect(await schedule.run()).toEqual({ backups: 1, removed: 2 });
});

it("is given up when the service stops, so that another one can start at once", async () => {
  const ending = new AbortController();
  ending.abort();
  await expect(scheduled(folder, { ending: ending.signal }).run()).rejects.toThrow();
  expect(backups().filter((name) => !name.startsWith("."))).toEqual([]);
  expect({ raised, not_before: (await state())?.not_before, failing_since: (await state())?.failing_since }).toEqual({
    raised: [],
    not_before: null,
    failing_since: null,
  });
  expect(await scheduled().run()).toEqual({ backups: 1, removed: 0 });
});

it("does not wait for a time that a clock which was set back has left", async () => {
  const schedule = scheduled();
  await schedule.run();
  const ahead = sql`now() + interval '3 days'`;
  await control.connection.db.update(backupSchedule).set({ last_ok_at: ahead, not_before: ahead });
  expect(await schedule.run()).toEqual({ backups: 1, removed: 0 });
});

it("starts over when its place changes, and is forgotten when it is switched off", async () => {
  await scheduled().run();
  const other = join(folder, "deeper/other");
  mkdirSync(join(folder, "deeper"));
  expect(await scheduled(other).run()).toEqual({ backups: 1, removed: 0 });
  expect((await state())?.place).toBe(other);
  const { ctx } = control;
  const off = new BackupSchedule({
    ctx,
    backup: null,
    databaseFolder: "",
    version: "1.2.3",
    sink: { take: async () => undefined },
    cell: "here",
    ending: new AbortController().signal,
    log,
  });
  await off.declare();
  expect({ result: await off.run(), state: await state() }).toEqual({
    result: { backups: 0, removed: 0 },
    state: undefined,
  });
});

it("resumes at a place that is chosen again, neither early nor late", async () => {
  const other = join(folder, "other");
  const [here, there] = [scheduled(), scheduled(other)];
  expect(await here.run()).toEqual({ backups: 1, removed: 0 });
  expect(await there.run()).toEqual({ backups: 1, removed: 0 });
  expect(await here.run()).toEqual({ backups: 0, removed: 0 });
  expect((await state())?.place).toBe(folder);
  await there.declare();
  await anHourPasses();
  expect({ hereBackups: (await here.run()).backups, thereBackups: (await there.run()).backups }).toEqual({
    hereBackups: 1,
    thereBackups: 1,
  });
  expect({ hereBackups: (await here.run()).backups, thereBackups: (await there.run()).backups }).toEqual({
    hereBackups: 0,
    thereBackups: 0,
  });
});

it("records a backup under its own place, even if another service declares another meanwhile", async () => {
  const other = join(folder, "other");
  const place = folderPlace(folder);
  const slow = new BackupSchedule({
    ctx: control.ctx,
    databaseFolder: "",
    backup: {
      place: {
        ...place,
        store: async (...args) => {
          await place.store(...args);
          await scheduled(other).declare();
        },
      },
      intervalSecs: HOUR_SECS,
      keep: 3,
      keepDays: 0,
    },
    version: "1.2.3",
    sink: { take: async () => undefined },
    cell: "here",
    ending: new AbortController().signal,
    log,
  });
  expect(await slow.run()).toEqual({ backups: 1, removed: 0 });
  expect(await state()).toMatchObject({ place: other, last_ok_at: null });
  expect(await scheduled().run()).toEqual({ backups: 0, removed: 0 });
});

it("removes only its own backups from a place shared with another gateway and a copy", {
  tags: ["check"],
}, async () => {
  const second = await startControl({ now: () => new Date(nowMs) });
  const exported = backupName(new Date(0));
  const whose = (name: string): string => gatewayOf(name) ?? "nobody";
  writeFileSync(join(folder, exported), "{}");
  const [mine, theirs] = [scheduled(folder, { keep: 1 }), scheduled(folder, { keep: 1, of: second })];
  const theirHours = async (): Promise<void> =>
    void (await second.connection.db.update(backupSchedule).set({ last_ok_at: sql`last_ok_at - interval '1 hour'` }));
  for (let count = 0; count < 3; count += 1) {
    await Promise.all([mine.run(), theirs.run()]);
    await anHourPasses();
    await theirHours();
  }
  const ids = [await identityOf(control.connection.db, ""), await identityOf(second.connection.db, "")];
  const names = backups();
  expect(names).toContain(exported.replace("19700101T000000Z", "19691231T210000Z"));
  expect(names.map(whose).toSorted()).toEqual([...ids, "nobody"].toSorted());

  // its embedded database is copied, with all rows, to another folder
  const copy = scheduled(folder, { keep: 1, databaseFolder: "/elsewhere" });
  await copy.run();
  const id = await identityOf(control.connection.db, "/elsewhere");
  expect(ids).not.toContain(id);
  expect(backups().map(whose).toSorted()).toEqual([...ids, id, "nobody"].toSorted());
  await second.close();
});

it("keeps its identity, and makes a new one in a database that was restored elsewhere", async () => {
  const { db } = control.connection;
  const id = await identityOf(db, "");
  expect(id).toMatch(/^[0-9a-f]{12}$/);
  expect(await Promise.all([identityOf(db, ""), identityOf(db, "")])).toEqual([id, id]);
  // what a dump brings along: the row of the database that it was taken from
  await db.update(gatewayIdentity).set({ made_on: "7000000000000000001 5" });
  const [one, two] = await Promise.all([identityOf(db, ""), identityOf(db, "")]);
  expect(one).not.toBe(id);
  expect(two).toBe(one);
});

it("is not held up by backups with a time that is still to come, and removes none", async () => {
  const schedule = scheduled(folder, { keep: 2 });
  const id = await identityOf(control.connection.db, "");
  await schedule.run();
  const ahead = [2, 3, 4].map((days) => backupName(new Date(Date.now() + days * 86_400_000), id));
  for (const name of ahead) copyFileSync(join(folder, backups()[0] ?? ""), join(folder, name));
  const made = async (): Promise<void> => {
    await control.connection.db.update(backupSchedule).set({ last_ok_at: sql`last_ok_at - interval '1 hour'` });
    for (const name of backups().filter((each) => !ahead.includes(each)))
      renameSync(join(folder, name), join(folder, anHourAgo(name)));
    expect((await schedule.run()).backups).toBe(1);
  };
  await made();
  await made();
  expect(backups().filter((name) => ahead.includes(name))).toEqual(ahead);
  expect(backups()).toHaveLength(ahead.length + 2);
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

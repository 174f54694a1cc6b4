/** Scheduled backups that are stored and cannot be read back, in a real bucket behind a front that refuses what it is told to. */
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { sql } from "drizzle-orm";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { listen } from "../../infra/local/http/listen.ts";
import { bucketOptions, startBucketServer } from "../../test/cluster/bucket-server.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import type { RaisedAlert } from "../kernel/alert-sink.ts";
import { placeNamed } from "./backup-env.ts";
import { BackupSchedule } from "./backup-schedule.ts";
import { backupSchedule } from "./schedule-table.ts";

const TO = "s3://backups/gateway";
const DAY_SECS = 86_400;
const STEP_SECS = 300;
const DENIED = "the bucket answered 403 AccessDenied";

let control: TestControl;
let bucket: Awaited<ReturnType<typeof startBucketServer>>;
let front: Awaited<ReturnType<typeof listen>>;
/** What the front does with requests of a method instead of passing them on. */
let instead = new Map<string, (response: ServerResponse) => void>();
let puts = 0;
const raised: RaisedAlert[] = [];
const lines: Record<string, unknown>[] = [];
const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });

const denied = (response: ServerResponse): void =>
  void response.writeHead(403).end("<Error><Code>AccessDenied</Code></Error>");

async function passed(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "", headers, url = "/" } = request;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  if (method === "PUT") puts += 1;
  const other = instead.get(method);
  if (other !== undefined) return other(response);
  forward(new URL(url, bucket.url), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  }).end(Buffer.concat(chunks));
}

beforeAll(async () => {
  control = await startControl();
  bucket = await startBucketServer();
  const server = createServer((request, response) => void passed(request, response));
  front = await listen(server, "127.0.0.1", 0);
});
afterAll(async () => {
  await front.close();
  await bucket.close();
  await control.close();
});
beforeEach(async () => {
  const place = placeNamed(TO, bucketOptions(bucket.url));
  for (const name of await stored()) await place.remove(name, new AbortController().signal);
  await control.connection.db.delete(backupSchedule);
  instead = new Map();
  puts = 0;
  raised.length = 0;
  lines.length = 0;
});

const stored = async (): Promise<readonly string[]> =>
  await placeNamed(TO, bucketOptions(bucket.url)).names(new AbortController().signal);

const scheduled = (ending = new AbortController().signal): BackupSchedule =>
  new BackupSchedule({
    ctx: control.ctx,
    databaseFolder: "",
    backup: { place: placeNamed(TO, bucketOptions(front.url)), intervalSecs: DAY_SECS, keep: 3, keepDays: 0 },
    version: "1.2.3",
    sink: { take: async (alerts) => void raised.push(...alerts) },
    cell: "here",
    ending,
    log,
  });

async function timePasses(secs: number): Promise<void> {
  const ago = sql`${secs} * interval '1 second'`;
  const { not_before, failing_since } = backupSchedule;
  await control.connection.db
    .update(backupSchedule)
    .set({ not_before: sql`${not_before} - ${ago}`, failing_since: sql`${failing_since} - ${ago}` });
}

/** From now, and from the first failure. */
async function nextAttempt(): Promise<{ readonly waitSecs: number; readonly atSecs: number }> {
  const { not_before, failing_since } = backupSchedule;
  const [next] = await control.connection.db
    .select({
      waitSecs: sql<number>`extract(epoch FROM ${not_before} - now())::float8`,
      atSecs: sql<number>`extract(epoch FROM ${not_before} - ${failing_since})::float8`,
    })
    .from(backupSchedule);
  if (next === undefined) throw new Error("no backup is scheduled");
  return next;
}

it("are removed when the credentials may write and not read", async () => {
  instead.set("GET", denied);
  const reason = `the stored backup cannot be read back: ${DENIED}`;
  await expect(scheduled().run()).rejects.toThrow(reason);
  expect({ puts, stored: await stored() }).toEqual({ puts: 1, stored: [] });
  expect(raised).toMatchObject([{ issueKey: "backup_failed", detail: expect.stringMatching(`${reason}$`) }]);
  await timePasses(STEP_SECS);
  instead.clear();
  expect(await scheduled().run()).toEqual({ backups: 1, removed: 0 });
});

it("are removed when something else is read back", { tags: ["check"] }, async () => {
  instead.set("GET", (response) => void response.end("{}"));
  await expect(scheduled().run()).rejects.toThrow("the stored backup differs from what was written");
  expect(await stored()).toEqual([]);
});

it("are removed when the time is over before they are read back", { tags: ["check"] }, async () => {
  const ending = new AbortController();
  instead.set("GET", () => ending.abort());
  await expect(scheduled(ending.signal).run()).rejects.toThrow("the bucket is too slow");
  expect(await stored()).toEqual([]);
});

it("that can be neither read nor removed are reported plainly, and are few", { tags: ["check"] }, async () => {
  instead.set("GET", denied).set("DELETE", denied);
  const reason = `the stored backup cannot be read back: ${DENIED}; it could not be removed and stays there unverified: ${DENIED}`;
  await expect(scheduled().run()).rejects.toThrow(reason);
  const [name] = await stored();
  expect(lines.find(({ event }) => event === "backup_not_removed")).toMatchObject({ file: name, reason: DENIED });
  expect(raised).toMatchObject([{ issueKey: "backup_failed", detail: expect.stringContaining(reason) }]);
  for (;;) {
    const { waitSecs, atSecs } = await nextAttempt();
    if (atSecs >= DAY_SECS) break;
    await timePasses(waitSecs);
    await expect(scheduled().run()).rejects.toThrow(reason);
  }
  // at 0, 5, 10, 20, 40 minutes and so on, or later
  expect(puts).toBeLessThanOrEqual(10);

  // a week later: as often as the schedule asks for
  await timePasses(7 * DAY_SECS);
  await expect(scheduled().run()).rejects.toThrow(reason);
  await timePasses(DAY_SECS - STEP_SECS);
  expect(await scheduled().run()).toEqual({ backups: 0, removed: 0 });
  instead.clear();
  await timePasses(STEP_SECS);
  expect((await scheduled().run()).backups).toBe(1);
});

it("are not assumed where storing was refused, so the next try is as soon as usual", { tags: ["check"] }, async () => {
  instead.set("PUT", denied).set("DELETE", denied);
  for (let count = 1; count <= 20; count += 1) {
    await expect(scheduled().run()).rejects.toThrow(new RegExp(`^${DENIED}$`));
    await timePasses(STEP_SECS);
  }
  expect(puts).toBe(20);
});

it("hold up the next one no longer when a clock was set back", { tags: ["check"] }, async () => {
  instead.set("GET", denied).set("DELETE", denied);
  await expect(scheduled().run()).rejects.toThrow();
  await timePasses(-3 * DAY_SECS);
  instead.clear();
  expect((await scheduled().run()).backups).toBe(1);
});

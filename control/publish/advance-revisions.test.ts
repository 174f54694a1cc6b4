import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { advanceRevisions } from "./advance-revisions.ts";

let control: TestControl;
beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  // the database is shared with later tests
  await control.connection.db.execute(sql`SELECT setval('config_rev', 1000)`);
  await control.close();
});

async function next(): Promise<number> {
  const { rows } = (await control.connection.db.execute(sql`SELECT nextval('config_rev') AS rev`)) as unknown as {
    rows: { rev: number | string }[];
  };
  return Number(rows[0]?.rev);
}

it("is newer than what an earlier database has written, and never goes back", async () => {
  const { db } = control.connection;
  const startedMs = Date.now();
  await Promise.all([advanceRevisions(db), advanceRevisions(db)]);
  const first = await next();
  expect(first).toBeGreaterThanOrEqual(startedMs);
  await advanceRevisions(db);
  expect(await next()).toBe(first + 1);
  // a state of half a minute ago is older only to who asks for it
  await db.execute(sql`SELECT setval('config_rev', ${startedMs - 30_000}::bigint)`);
  await advanceRevisions(db);
  expect(await next()).toBe(startedMs - 29_999);
  await advanceRevisions(db, 0);
  expect(await next()).toBeGreaterThanOrEqual(startedMs);
  await db.execute(sql`SELECT setval('config_rev', ${first + 10_000_000}::bigint)`);
  await advanceRevisions(db, 0);
  await advanceRevisions(db);
  expect(await next()).toBe(first + 10_000_001);
});

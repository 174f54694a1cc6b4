import { sql } from "drizzle-orm";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openDatabaseCopy } from "../../test/harness/database-template.ts";
import { migrateWithRetries } from "../process/open-database.ts";
import type { Connection } from "./connect.ts";
import { migrate, pendingMigrations } from "./migrate.ts";

let connection: Connection;
beforeEach(async () => {
  connection = await openDatabaseCopy();
});
afterEach(async () => await connection.close());

const record = async (version: number, name: string): Promise<unknown> =>
  await connection.db.execute(
    sql`INSERT INTO schema_migrations (version, name, checksum) VALUES (${version}, ${name}, 'of another version')`,
  );

async function recorded(): Promise<unknown> {
  return (await connection.db.execute(sql`SELECT * FROM schema_migrations ORDER BY version`)) as unknown;
}

it("applies nothing twice", async () => {
  expect(await migrate(connection)).toEqual([]);
});

it("says what it would apply, changes nothing, and refuses a newer database too", async () => {
  expect(await pendingMigrations(connection)).toEqual([]);
  await connection.db.execute(sql`DELETE FROM schema_migrations WHERE version = 2`);
  const before = await recorded();
  expect(await pendingMigrations(connection)).toEqual([expect.stringMatching(/^0002-/)]);
  expect(await recorded()).toEqual(before);
  await record(9001, "9001-first.sql");
  await expect(pendingMigrations(connection)).rejects.toThrow("9001-first.sql is in the database but unknown");
});

it("refuses a database of a newer version by the names of its migrations, and changes nothing", async () => {
  // one that this version would apply again, if it got that far
  await connection.db.execute(sql`DELETE FROM schema_migrations WHERE version = 1`);
  await record(9002, "9002-second.sql");
  await record(9001, "9001-first.sql");
  const before = await recorded();
  await expect(migrate(connection)).rejects.toThrow(
    "migration 9001-first.sql, 9002-second.sql is in the database but unknown to this version: start the version that applied it",
  );
  expect(await recorded()).toEqual(before);
});

it("refuses one that lies between its own", async () => {
  await record(0, "0000-between.sql");
  await expect(migrate(connection)).rejects.toThrow("migration 0000-between.sql is in the database but unknown");
});

it("ends the start at once, without waiting for another answer of the database", async () => {
  await record(9001, "9001-first.sql");
  const warnings: unknown[] = [];
  const log = { info: () => undefined, warn: (entry: unknown) => warnings.push(entry) };
  await expect(migrateWithRetries(connection, log as never)).rejects.toThrow("9001-first.sql");
  expect(warnings).toEqual([]);
});

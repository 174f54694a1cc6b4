import { sql } from "drizzle-orm";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openDatabaseCopy } from "../../test/harness/database-template.ts";
import type { Connection } from "./connect.ts";
import { migrate } from "./migrate.ts";

let connection: Connection;
beforeEach(async () => {
  connection = await openDatabaseCopy();
});
afterEach(async () => await connection.close());

it("messages that wait during the upgrade to channels wait on both of the channels of before", async () => {
  await connection.exec(
    connection.db,
    `
    ALTER TABLE alert_issues DROP COLUMN channel CASCADE;
    ALTER TABLE alert_issues ADD PRIMARY KEY (issue_key);
    DROP TABLE alert_deliveries;
    DELETE FROM schema_migrations WHERE version = 47;
    INSERT INTO alert_issues (issue_key, title, detail, waiting, told_at_ms) VALUES ('a', 't', 'd', 3, 5), ('b', 't', 'd', 0, 7);
  `,
  );
  expect(await migrate(connection)).toEqual([expect.stringMatching(/^0047-/)]);
  const rows = await connection.db.execute(
    sql`SELECT channel, issue_key, waiting::int, told_at_ms::int FROM alert_issues ORDER BY issue_key, channel`,
  );
  expect((rows as unknown as { rows: unknown }).rows).toEqual([
    { channel: "email", issue_key: "a", waiting: 3, told_at_ms: 5 },
    { channel: "slack", issue_key: "a", waiting: 3, told_at_ms: 5 },
    { channel: "email", issue_key: "b", waiting: 0, told_at_ms: 7 },
    { channel: "slack", issue_key: "b", waiting: 0, told_at_ms: 7 },
  ]);
});

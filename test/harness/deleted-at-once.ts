/** How many rows of a table each statement deletes: a statement that deletes many holds the embedded database and its thread. */
import { sql } from "drizzle-orm";
import type { Database } from "../../control/db/connect.ts";

/** The numbers for the statements of `work` that deleted any, also by a cascade. */
export async function deletedAtOnce(
  db: Database,
  table: "batch_lines" | "file_pieces",
  work: () => Promise<unknown>,
): Promise<readonly number[]> {
  const of = sql.identifier(table);
  await db.execute(sql`CREATE TABLE deleted_at_once (id serial, rows integer NOT NULL)`);
  await db.execute(sql`
    CREATE FUNCTION note_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO deleted_at_once (rows) SELECT count(*) FROM gone; RETURN NULL; END $$`);
  await db.execute(sql`
    CREATE TRIGGER deleted_at_once AFTER DELETE ON ${of} REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_deleted()`);
  try {
    await work();
    const { rows } = (await db.execute(
      sql`SELECT rows FROM deleted_at_once WHERE rows > 0 ORDER BY id`,
    )) as unknown as {
      readonly rows: readonly { readonly rows: number }[];
    };
    return rows.map((each) => each.rows);
  } finally {
    await db.execute(sql`DROP TRIGGER deleted_at_once ON ${of}`);
    await db.execute(sql`DROP FUNCTION note_deleted`);
    await db.execute(sql`DROP TABLE deleted_at_once`);
  }
}

/**
 * Revisions continue from the time of day. A Cell remembers the newest revision that it was told of, so that a database which was
 * recreated or restored from an older state, and counts from a smaller number, could tell it nothing (docs/recover.md#a-database-that-is-restored).
 */
import { sql } from "drizzle-orm";
import type { Database } from "../db/connect.ts";

const LOCK = 727275;
/** Less is no older state: revisions are written while services start beside each other. */
const BEHIND_MS = 60_000;

/**
 * Moves the sequence to the milliseconds since 1970, unless it is beyond them or less than `behindMs` away: no database writes
 * a revision each millisecond for long. One service does it at a time, so that it never moves back. Rejects when the database
 * does not answer.
 */
export async function advanceRevisions(db: Database, behindMs = BEHIND_MS): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(sql`SELECT pg_advisory_xact_lock(${LOCK})`);
    const now = sql`floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint`;
    await tx.execute(
      sql`SELECT setval('config_rev', ${now}) FROM config_rev WHERE last_value < ${now} - ${behindMs}::bigint`,
    );
  });
}

/**
 * The row of scheduled backups, which all control services of a database share. Every time in it is the database's. Each function
 * rejects when the database does not answer.
 */
import { and, eq, gt, isNull, lte, or, sql } from "drizzle-orm";
import type { Database } from "../db/connect.ts";
import { backupSchedule } from "../db/schema/backup-schedule.ts";

const NOW = sql`now()`;
const after = (ms: number) => sql`now() + ${ms} * interval '1 millisecond'`;

/** What a control service says at its start; null: it schedules no backups. A new place has no backups yet. */
export async function declareSchedule(
  db: Database,
  schedule: { readonly place: string; readonly intervalSecs: number } | null,
): Promise<void> {
  if (schedule === null) return void (await db.delete(backupSchedule));
  const row = { place: schedule.place, interval_secs: schedule.intervalSecs };
  await db.transaction(async (tx) => {
    const same = eq(backupSchedule.place, row.place);
    await tx.delete(backupSchedule).where(sql`NOT ${same}`);
    await tx
      .insert(backupSchedule)
      .values(row)
      .onConflictDoUpdate({
        target: backupSchedule.singleton,
        set: row,
        setWhere: sql`${backupSchedule.interval_secs} <> ${row.interval_secs}`,
      });
  });
}

/**
 * True: a backup is due, and the caller is the one who makes it, for at most `withinMs`. A time that lies further ahead than it
 * can be was written before a clock was set back.
 */
export async function claimBackup(db: Database, place: string, withinMs: number): Promise<boolean> {
  const { not_before, last_ok_at, interval_secs } = backupSchedule;
  const claimed = await db
    .update(backupSchedule)
    .set({ not_before: after(withinMs) })
    .where(
      and(
        eq(backupSchedule.place, place),
        or(isNull(not_before), lte(not_before, NOW), gt(not_before, after(withinMs))),
        or(
          isNull(last_ok_at),
          gt(last_ok_at, NOW),
          lte(last_ok_at, sql`now() - ${interval_secs} * interval '1 second'`),
        ),
      ),
    )
    .returning({ place: backupSchedule.place });
  return claimed.length > 0;
}

/** A backup is stored and was read back. */
export async function backupStored(db: Database, name: string, bytes: number): Promise<void> {
  const stored = { last_ok_at: NOW, last_name: name, last_bytes: bytes };
  await db.update(backupSchedule).set({ ...stored, not_before: null, failing_since: null, last_error: null });
}

/** An attempt has failed for this reason; the next one is made `againMs` later. */
export async function backupFailed(db: Database, reason: string, againMs: number): Promise<void> {
  await db.update(backupSchedule).set({
    not_before: after(againMs),
    failing_since: sql`coalesce(${backupSchedule.failing_since}, now())`,
    last_error: reason,
  });
}

/** An attempt was given up because its process ends: another may begin at once. */
export async function backupGivenUp(db: Database): Promise<void> {
  await db.update(backupSchedule).set({ not_before: null });
}

/**
 * The rows of scheduled backups, which all control services of a database share: one of the place where backups go, and those
 * of the places where they went. Every time in them is the database's. Each function rejects when the database does not answer.
 */
import { and, eq, gt, isNull, lte, or, sql } from "drizzle-orm";
import type { Database, Transaction } from "../db/connect.ts";
import { backupPlaces, backupSchedule } from "./schedule-table.ts";

/** Held while the place changes, so that services with different variables do so one after another. */
const PLACE_LOCK = 727276;
const NOW = sql`now()`;
const after = (ms: number) => sql`now() + ${ms} * interval '1 millisecond'`;

/** What a control service says at its start; null: it schedules no backups. A place that had backups before continues. */
export async function declareSchedule(
  db: Database,
  schedule: { readonly place: string; readonly intervalSecs: number } | null,
): Promise<void> {
  const [current] = await db.select().from(backupSchedule);
  if (current?.place === schedule?.place && current?.interval_secs === schedule?.intervalSecs) return;
  await db.transaction(async (tx) => {
    await tx.execute(sql`SELECT pg_advisory_xact_lock(${PLACE_LOCK})`);
    await leaveOtherPlace(tx, schedule?.place);
    if (schedule === null) return;
    const { place } = schedule;
    const [known] = await tx.delete(backupPlaces).where(eq(backupPlaces.place, place)).returning();
    const interval = { interval_secs: schedule.intervalSecs };
    await tx
      .insert(backupSchedule)
      .values({ ...known, place, ...interval })
      .onConflictDoUpdate({ target: backupSchedule.singleton, set: interval });
  });
}

/** Puts the row of any place but this one with those of the places where backups went. */
async function leaveOtherPlace(tx: Transaction, place: string | undefined): Promise<void> {
  const isOther = place === undefined ? undefined : sql`${backupSchedule.place} <> ${place}`;
  const [left] = await tx.delete(backupSchedule).where(isOther).returning();
  if (left === undefined) return;
  const { not_before, last_ok_at, last_name, last_bytes } = left;
  const kept = { not_before, last_ok_at, last_name, last_bytes };
  await tx
    .insert(backupPlaces)
    .values({ place: left.place, ...kept })
    .onConflictDoUpdate({ target: backupPlaces.place, set: kept });
}

/**
 * How far ahead of now a next attempt can be: one turn, and while attempts fail also one interval ({@link backupFailed}). A time
 * that lies further ahead was written before a clock was set back. It is compared with the time at which it is read: a transaction
 * that has waited for another's claim began before that.
 */
const furthestAhead = (withinMs: number) => {
  const { failing_since, interval_secs } = backupSchedule;
  const turn = sql`${withinMs} * interval '1 millisecond'`;
  return sql`clock_timestamp() + CASE WHEN ${failing_since} <= now()
    THEN greatest(${turn}, ${interval_secs} * interval '1 second') ELSE ${turn} END`;
};

/**
 * The time of the database when a backup is due, and the caller is the one who makes it, for at most `withinMs`; null when none
 * is.
 */
export async function claimBackup(db: Database, place: string, withinMs: number): Promise<Date | null> {
  const { not_before, last_ok_at, interval_secs } = backupSchedule;
  const [claimed] = await db
    .update(backupSchedule)
    .set({ not_before: after(withinMs) })
    .where(
      and(
        eq(backupSchedule.place, place),
        or(isNull(not_before), lte(not_before, NOW), gt(not_before, furthestAhead(withinMs))),
        or(
          isNull(last_ok_at),
          gt(last_ok_at, NOW),
          lte(last_ok_at, sql`now() - ${interval_secs} * interval '1 second'`),
        ),
      ),
    )
    .returning({ nowMs: sql<number>`(extract(epoch FROM now()) * 1000)::float8` });
  return claimed === undefined ? null : new Date(Number(claimed.nowMs));
}

/** A backup is stored at the place and was read back; `at`: the database's time, which its name has. */
export async function backupStored(
  db: Database,
  place: string,
  stored: { readonly at: Date; readonly name: string; readonly bytes: number },
): Promise<void> {
  const last = { last_ok_at: stored.at, last_name: stored.name, last_bytes: stored.bytes, not_before: null };
  await db
    .update(backupSchedule)
    .set({ ...last, failing_since: null, last_error: null })
    .where(eq(backupSchedule.place, place));
  // another service may have declared another place meanwhile
  await db.update(backupPlaces).set(last).where(eq(backupPlaces.place, place));
}

/** Why an attempt failed, and when the next one is. */
interface FailedBackup {
  readonly reason: string;
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * An attempt at the place has failed. The next one is made `firstMs` later, and while attempts continue to fail, after as long as they
 * have failed for, which doubles the time between them, up to `longestMs`.
 */
export async function backupFailed(
  db: Database,
  place: string,
  { reason, firstMs, longestMs }: FailedBackup,
): Promise<void> {
  const failedFor = sql`now() - ${backupSchedule.failing_since}`;
  const first = sql`${firstMs} * interval '1 millisecond'`;
  const longest = sql`${longestMs} * interval '1 millisecond'`;
  await db
    .update(backupSchedule)
    .set({
      not_before: sql`now() + least(greatest(${first}, ${failedFor}), ${longest})`, // greatest() passes over null
      failing_since: sql`coalesce(${backupSchedule.failing_since}, now())`,
      last_error: reason,
    })
    .where(eq(backupSchedule.place, place));
}

/** An attempt at the place was given up because its process ends: another may begin at once. */
export async function backupGivenUp(db: Database, place: string): Promise<void> {
  await db.update(backupSchedule).set({ not_before: null }).where(eq(backupSchedule.place, place));
}

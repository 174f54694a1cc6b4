/**
 * What people have said of issues: that they know of one, or want to hear nothing of it for some time
 * (docs/rules/alerts.md#acknowledged-and-muted).
 */
import { and, asc, desc, eq, gt, gte, inArray, lt, notInArray, sql } from "drizzle-orm";
import type { Issue } from "../../shared/alerts.ts";
import type { AlertMark } from "../../shared/schema/alert-log.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { NEVER_FIRING } from "./alert-log.ts";
import { firingIssues } from "./firing.ts";
import { alertLog, alertMarks } from "./tables.ts";

const KEPT_MS = 30 * 86_400_000;

type MarkRow = typeof alertMarks.$inferSelect;

/** A mark as it holds at `nowMs`; `since`: since when the issue fires, null if it does not. */
export function alertMarkOf(key: string, row: MarkRow | undefined, since: string | null, nowMs: number): AlertMark {
  const { acknowledged_at_ms: acknowledgedMs = null, muted_until_ms: mutedMs = null } = row ?? {};
  const isAcknowledged = acknowledgedMs !== null && since !== null && acknowledgedMs >= Date.parse(since);
  const isMuted = mutedMs !== null && mutedMs > nowMs;
  return {
    key,
    acknowledged: isAcknowledged,
    acknowledged_at: isAcknowledged ? new Date(acknowledgedMs).toISOString() : null,
    acknowledged_by: isAcknowledged ? (row?.acknowledged_by ?? null) : null,
    muted_until: isMuted ? new Date(mutedMs).toISOString() : null,
    muted_by: isMuted ? (row?.muted_by ?? null) : null,
    rev: row?.rev ?? 0,
  };
}

/** The marks of these issues, by key. */
export async function marksOf(
  db: Database | Transaction,
  keys: readonly string[],
): Promise<ReadonlyMap<string, MarkRow>> {
  const rows = await db
    .select()
    .from(alertMarks)
    .where(inArray(alertMarks.issue_key, [...keys]));
  return new Map(rows.map((row) => [row.issue_key, row]));
}

/** The issues that are muted at `nowMs`, the one that ends first before the others. */
export async function mutedMarks(
  db: Database | Transaction,
  nowMs: number,
  limit: number,
): Promise<readonly MarkRow[]> {
  const muted = gt(alertMarks.muted_until_ms, nowMs);
  return await db.select().from(alertMarks).where(muted).orderBy(asc(alertMarks.muted_until_ms)).limit(limit);
}

/**
 * Those of the issues, just written to the log, whose repeats people do not want: they have said so since the issue began. What is
 * raised once has no repeats.
 */
export async function acknowledgedIssues(tx: Transaction, issues: readonly Issue[]): Promise<ReadonlySet<string>> {
  const keys = issues.map(({ issueKey }) => issueKey).filter((key) => !NEVER_FIRING.test(key));
  const since = tx
    .select({ since: alertLog.firing_since_ms })
    .from(alertLog)
    .where(eq(alertLog.issue_key, alertMarks.issue_key))
    .orderBy(desc(alertLog.id))
    .limit(1);
  const rows = await tx
    .select({ key: alertMarks.issue_key })
    .from(alertMarks)
    .where(and(inArray(alertMarks.issue_key, keys), gte(alertMarks.acknowledged_at_ms, sql`(${since})`)));
  return new Set(rows.map(({ key }) => key));
}

/** Removes marks that are older than 30 days, but not of issues that still fire. */
export async function forgetMarks(db: Database, nowMs: number): Promise<void> {
  const last = sql`greatest(${alertMarks.acknowledged_at_ms}, ${alertMarks.muted_until_ms}, 0)`;
  const firing = (await firingIssues(db, nowMs)).map(({ key }) => key);
  await db.delete(alertMarks).where(and(lt(last, nowMs - KEPT_MS), notInArray(alertMarks.issue_key, firing)));
}

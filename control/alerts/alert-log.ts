/**
 * The alerts that were raised, kept for people to read, whether or not a channel is configured
 * (docs/rules/alerts.md#reading-alerts). A row stands for one message: what is raised again before the next message about
 * the same issue may leave is counted into it.
 */
import { desc, eq, gt, lt, or, sql } from "drizzle-orm";
import type { AlertEvent } from "../../shared/alerts.ts";
import type { FiringAlert, LoggedAlert } from "../../shared/schema/alert-log.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { severityOf } from "./alert-kinds.ts";
import { alertLog } from "./tables.ts";

/** An issue fires until it has not been raised for this long. */
export const FIRING_MS = 15 * 60_000;
/** What a job looks at every 10 s and raises each minute while it lasts is over sooner: when two minutes and a look do not raise it. */
const WATCHED = /^(queue_wait_long:|redis_sync_failed$)/;
const WATCHED_FIRING_MS = 130_000;
/** A row stands for this long at least, however short the cooldown is. */
const ROW_MS = 60_000;
const KEPT_MS = 30 * 86_400_000;
/** More rows than this are not kept. */
const ROWS_MAX = 100_000;
/** Not conditions: an alert that is tried, and what happened once. Models that are down say so themselves. */
export const NEVER_FIRING = /^(test_alert$|identity_tenant_created:|model_health_|slurm_reconcile_recovered$)/;

/** An issue that fires, without what people have said of it. */
export type Firing = Pick<FiringAlert, "key" | "title" | "detail" | "severity" | "since" | "last_at" | "repeats">;

type LogRow = typeof alertLog.$inferSelect;

function firingMsOf(issueKey: string): number {
  return WATCHED.test(issueKey) ? WATCHED_FIRING_MS : FIRING_MS;
}

/** What an event does to the newest row of its issue: it is counted into the row, or begins another. */
export function rowAfter(
  last: Omit<LogRow, "id"> | undefined,
  event: AlertEvent,
  cooldownMs: number,
): { readonly continues: boolean; readonly row: Omit<LogRow, "id"> } {
  const { issueKey, title, detail, atMs, count } = event;
  const fires = last !== undefined && atMs - last.last_at_ms <= firingMsOf(issueKey);
  const firing = {
    firing_since_ms: fires ? last.firing_since_ms : atMs,
    firing_times: (fires ? last.firing_times : 0) + count,
  };
  if (last === undefined || atMs - last.began_at_ms >= Math.max(cooldownMs, ROW_MS)) {
    const row = { issue_key: issueKey, title, detail, began_at_ms: atMs, last_at_ms: atMs, times: count, ...firing };
    return { continues: false, row };
  }
  const last_at_ms = Math.max(last.last_at_ms, atMs);
  return { continues: true, row: { ...last, title, detail, last_at_ms, times: last.times + count, ...firing } };
}

export class AlertLog {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Writes events within the transaction, which must hold the lock of lockAlerts. An event cannot have
   * happened after `nowMs`: then another clock is ahead.
   */
  async record(tx: Transaction, events: readonly AlertEvent[], cooldownMs: number, nowMs: number): Promise<void> {
    for (const event of events) {
      const of = eq(alertLog.issue_key, event.issueKey);
      const [last] = await tx.select().from(alertLog).where(of).orderBy(desc(alertLog.id)).limit(1);
      const { continues, row } = rowAfter(last, { ...event, atMs: Math.min(event.atMs, nowMs) }, cooldownMs);
      if (continues && last !== undefined) await tx.update(alertLog).set(row).where(eq(alertLog.id, last.id));
      else await tx.insert(alertLog).values(row);
    }
  }

  /** Issues that fire at `nowMs`, without those of models. */
  async firing(nowMs: number): Promise<readonly Firing[]> {
    const lately = await this.#db
      .selectDistinctOn([alertLog.issue_key])
      .from(alertLog)
      .where(gt(alertLog.last_at_ms, nowMs - FIRING_MS))
      .orderBy(alertLog.issue_key, desc(alertLog.id));
    return lately
      .filter(
        ({ issue_key, last_at_ms }) => !NEVER_FIRING.test(issue_key) && last_at_ms > nowMs - firingMsOf(issue_key),
      )
      .map((row) => ({
        key: row.issue_key,
        title: row.title,
        detail: row.detail,
        severity: severityOf(row.issue_key),
        since: new Date(row.firing_since_ms).toISOString(),
        last_at: new Date(row.last_at_ms).toISOString(),
        repeats: row.firing_times - 1,
      }));
  }

  /** The last messages, the newest first. */
  async recent(limit: number): Promise<readonly LoggedAlert[]> {
    const rows = await this.#db.select().from(alertLog).orderBy(desc(alertLog.id)).limit(limit);
    return rows.map((row) => ({
      key: row.issue_key,
      title: row.title,
      detail: row.detail,
      severity: severityOf(row.issue_key),
      at: new Date(row.began_at_ms).toISOString(),
      repeats: row.times - 1,
    }));
  }

  /** Removes rows that are older than 30 days, and the oldest when there are too many; returns how many. */
  async prune(nowMs: number): Promise<number> {
    const tooMany = sql`${alertLog.id} <= (SELECT max(id) FROM alert_log) - ${ROWS_MAX}`;
    const removed = await this.#db
      .delete(alertLog)
      .where(or(lt(alertLog.last_at_ms, nowMs - KEPT_MS), tooMany))
      .returning({ id: alertLog.id });
    return removed.length;
  }
}

/**
 * The issues that were raised and what was told of them, in the database: every replica counts into the same row, and a
 * crash neither loses a time that an issue was raised nor counts it twice (decisions §43.4). A message stands for all times
 * that wait when it is sent; while an issue is in its cooldown it waits.
 */
import { and, eq, gt, isNull, lt, or, sql } from "drizzle-orm";
import type { AlertEvent } from "../../shared/alerts.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { alertIssues } from "../db/schema/alerts.ts";

/** Longer than the channels need for one message, with all their attempts. */
const CLAIMED_FOR_MS = 120_000;
/** Replicas' clocks differ by less; a last message further in the future is of a clock that was set back. */
const CLOCKS_DIFFER_MS = 60_000;
/** Longer than any cooldown that can be set. */
const KEPT_MS = 7 * 86_400_000;
/** Transactions that record issues take turns: two that name the same issues in another order would block each other. */
const LOCK = 727275;

/** What a message says, and how many times it stands for. */
export interface DueIssue {
  readonly issueKey: string;
  readonly title: string;
  readonly detail: string;
  readonly count: number;
}

export class AlertIssues {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Counts every event into its issue, with the transaction. */
  async record(tx: Transaction, events: readonly AlertEvent[]): Promise<void> {
    await tx.execute(sql`SELECT pg_advisory_xact_lock(${LOCK})`);
    for (const { issueKey, title, detail, count } of events)
      await tx
        .insert(alertIssues)
        .values({ issue_key: issueKey, title, detail, waiting: count })
        .onConflictDoUpdate({
          target: alertIssues.issue_key,
          set: {
            title,
            detail,
            waiting: sql`${alertIssues.waiting} + excluded.waiting`,
            place: sql`CASE WHEN ${alertIssues.waiting} = 0 THEN excluded.place ELSE ${alertIssues.place} END`,
          },
        });
  }

  /**
   * The issue that waits longest and may be told of at `nowMs`; null when there is none. It is this replica's to tell until {@link markReported}, or until the claim runs out.
   */
  async claim(nowMs: number, cooldownMs: number): Promise<DueIssue | null> {
    const free = sql`SELECT issue_key FROM alert_issues WHERE waiting > 0
      AND (told_at_ms IS NULL OR told_at_ms <= ${nowMs - cooldownMs} OR told_at_ms > ${nowMs + CLOCKS_DIFFER_MS})
      AND (claimed_until_ms IS NULL OR claimed_until_ms < ${nowMs})
      ORDER BY place LIMIT 1 FOR UPDATE SKIP LOCKED`;
    const [row] = await this.#db
      .update(alertIssues)
      .set({ claimed_until_ms: nowMs + CLAIMED_FOR_MS })
      .where(sql`${alertIssues.issue_key} = ANY(ARRAY(${free}))`)
      .returning();
    if (row === undefined) return null;
    return { issueKey: row.issue_key, title: row.title, detail: row.detail, count: row.waiting };
  }

  /** Its message was sent, or given up, at `nowMs`: the cooldown begins. What was raised meanwhile waits on. */
  async markReported({ issueKey, count }: DueIssue, nowMs: number): Promise<void> {
    await this.#db
      .update(alertIssues)
      .set({ waiting: sql`greatest(${alertIssues.waiting} - ${count}, 0)`, told_at_ms: nowMs, claimed_until_ms: null })
      .where(eq(alertIssues.issue_key, issueKey));
  }

  /** Nobody is to be told of what waits: no channel is configured any more. Whoever is telling of an issue goes on. */
  async dismiss(nowMs: number): Promise<void> {
    const free = or(isNull(alertIssues.claimed_until_ms), lt(alertIssues.claimed_until_ms, nowMs));
    await this.#db
      .update(alertIssues)
      .set({ waiting: 0, claimed_until_ms: null })
      .where(and(gt(alertIssues.waiting, 0), free));
  }

  /** Removes issues whose cooldown is long over; answers how many. */
  async prune(nowMs: number): Promise<{ readonly removed: number }> {
    const over = and(eq(alertIssues.waiting, 0), lt(sql`coalesce(${alertIssues.told_at_ms}, 0)`, nowMs - KEPT_MS));
    const removed = await this.#db.delete(alertIssues).where(over).returning({ key: alertIssues.issue_key });
    return { removed: removed.length };
  }
}

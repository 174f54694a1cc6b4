/**
 * The issues that were raised, and what was reported of them on each channel, in the database. Every replica counts into the same
 * row, and a crash neither loses a count nor counts twice (docs/rules/alerts.md#cooldown-and-repeats). A message stands for
 * every time that its issue was raised before it is sent. An issue in its cooldown waits.
 */
import { and, asc, desc, eq, gt, isNull, lt, lte, notInArray, or, sql } from "drizzle-orm";
import type { AlertEvent } from "../../shared/alerts.ts";
import { ALERT_SEVERITIES, type AlertKey } from "../../shared/catalogues/alerts.ts";
import type { Database, Transaction } from "../db/connect.ts";
import type { ChannelTries } from "./channel-tries.ts";
import { tenantOfIssue } from "./issue-tenants.ts";
import { alertIssues } from "./tables.ts";

/**
 * How long a replica keeps an issue that it has claimed: longer than the channels need for one message with all their
 * attempts.
 */
const CLAIMED_FOR_MS = 120_000;
/**
 * The clocks of two replicas differ by less. A last message that lies further in the future was written by a clock that was
 * set back since.
 */
const CLOCKS_DIFFER_MS = 60_000;
/** Longer than any cooldown that can be set. */
const KEPT_MS = 7 * 86_400_000;
/**
 * Transactions that record issues or change what is said of them wait for each other: two that name the same issues in different
 * orders would block each other. Not the lock of writes: many alerts must not hold back a change of the configuration. A write may
 * take this lock; what holds it must not begin a write.
 */
const LOCK = 727277;

const CRITICAL = (Object.keys(ALERT_SEVERITIES) as AlertKey[]).filter((key) => ALERT_SEVERITIES[key] === "critical");
const isCritical = sql`${alertIssues.issue_key} ~ ${`^(?:${CRITICAL.join("|")})(?::|$)`}`;

/** Waits until no other transaction writes alerts; until this one ends, none will. */
export async function lockAlerts(tx: Transaction): Promise<void> {
  await tx.execute(sql`SELECT pg_advisory_xact_lock(${LOCK})`);
}

/** The text of a message on a channel, and how many times the issue was raised. */
export interface DueIssue {
  readonly channel: string;
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

  /** Counts the event into its issue on each of the channels, within the transaction, which must hold the lock of {@link lockAlerts}. */
  async record(
    tx: Transaction,
    { issueKey, title, detail, count }: AlertEvent,
    channels: readonly string[],
  ): Promise<void> {
    if (channels.length === 0) return;
    await tx
      .insert(alertIssues)
      .values(channels.map((channel) => ({ channel, issue_key: issueKey, title, detail, waiting: count })))
      .onConflictDoUpdate({
        target: [alertIssues.channel, alertIssues.issue_key],
        set: {
          title,
          detail,
          waiting: sql`${alertIssues.waiting} + excluded.waiting`,
          place: sql`CASE WHEN ${alertIssues.waiting} = 0 THEN excluded.place ELSE ${alertIssues.place} END`,
        },
      });
  }

  /** The channels on which an issue waits. */
  async waitingChannels(): Promise<ReadonlySet<string>> {
    const rows = await this.#db
      .selectDistinct({ channel: alertIssues.channel })
      .from(alertIssues)
      .where(gt(alertIssues.waiting, 0));
    return new Set(rows.map(({ channel }) => channel));
  }

  /**
   * The issue that may be reported on the channel at `nowMs` and is next; null when there is none. Those of the gateway come before
   * those of tenants, which take turns; of each, critical ones come first, and then the one that has waited longest. A muted one
   * waits. Only this replica may report the issue, until it calls {@link markReported} or the claim runs out.
   */
  async claim(channel: string, nowMs: number, cooldownMs: number, tries: ChannelTries): Promise<DueIssue | null> {
    const { issue_key, told_at_ms, claimed_until_ms } = alertIssues;
    const isDue = and(
      eq(alertIssues.channel, channel),
      gt(alertIssues.waiting, 0),
      or(isNull(told_at_ms), lte(told_at_ms, nowMs - cooldownMs), gt(told_at_ms, nowMs + CLOCKS_DIFFER_MS)),
      or(isNull(claimed_until_ms), lt(claimed_until_ms, nowMs)),
      sql`NOT EXISTS (SELECT FROM alert_marks m WHERE m.issue_key = ${issue_key} AND m.muted_until_ms > ${nowMs})`,
      notInArray(issue_key, tries.held(nowMs)),
    );
    for (;;) {
      const firsts = await this.#db
        .selectDistinctOn([tenantOfIssue], { tenantId: tenantOfIssue, key: issue_key })
        .from(alertIssues)
        .where(isDue)
        .orderBy(tenantOfIssue, desc(isCritical), asc(alertIssues.place));
      const ofTenants = firsts.flatMap(({ tenantId, key }) =>
        tenantId === null ? [] : [{ tenant_id: tenantId, key }],
      );
      const next = firsts.find(({ tenantId }) => tenantId === null) ?? tries.turns.next(ofTenants);
      if (next === null) return null;
      const [row] = await this.#db
        .update(alertIssues)
        .set({ claimed_until_ms: nowMs + CLAIMED_FOR_MS })
        .where(and(isDue, eq(issue_key, next.key)))
        .returning();
      // otherwise another replica was faster
      if (row !== undefined)
        return { channel, issueKey: row.issue_key, title: row.title, detail: row.detail, count: row.waiting };
    }
  }

  /** The message was sent, or given up, at `nowMs`: the cooldown begins. What was raised in the meantime keeps waiting. */
  async markReported({ channel, issueKey, count }: DueIssue, nowMs: number): Promise<void> {
    await this.#db
      .update(alertIssues)
      .set({ waiting: sql`greatest(${alertIssues.waiting} - ${count}, 0)`, told_at_ms: nowMs, claimed_until_ms: null })
      .where(and(eq(alertIssues.channel, channel), eq(alertIssues.issue_key, issueKey)));
  }

  /** The message could not be sent now, so it stays in the queue. */
  async release({ channel, issueKey }: DueIssue): Promise<void> {
    await this.#db
      .update(alertIssues)
      .set({ claimed_until_ms: null })
      .where(and(eq(alertIssues.channel, channel), eq(alertIssues.issue_key, issueKey)));
  }

  /** The channel does not take the issue any more. */
  async forget({ channel, issueKey }: DueIssue): Promise<void> {
    await this.#db
      .update(alertIssues)
      .set({ waiting: 0, claimed_until_ms: null })
      .where(and(eq(alertIssues.channel, channel), eq(alertIssues.issue_key, issueKey)));
  }

  /**
   * Issues that wait on channels other than these are not reported: nothing is sent there any more. A replica that is reporting
   * an issue right now finishes.
   */
  async dismissOthers(channels: readonly string[], nowMs: number): Promise<void> {
    const free = or(isNull(alertIssues.claimed_until_ms), lt(alertIssues.claimed_until_ms, nowMs));
    await this.#db
      .update(alertIssues)
      .set({ waiting: 0, claimed_until_ms: null })
      .where(and(gt(alertIssues.waiting, 0), notInArray(alertIssues.channel, [...channels]), free));
  }

  /** Removes issues whose cooldown ended long ago; returns how many. */
  async prune(nowMs: number): Promise<{ readonly removed: number }> {
    const over = and(eq(alertIssues.waiting, 0), lt(sql`coalesce(${alertIssues.told_at_ms}, 0)`, nowMs - KEPT_MS));
    const removed = await this.#db.delete(alertIssues).where(over).returning({ key: alertIssues.issue_key });
    return { removed: removed.length };
  }
}

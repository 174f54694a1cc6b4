/**
 * Alerts that a change of the database raises. They are committed with the change and handed to the sink afterwards, so
 * that a crash between the two loses none. Replicas share the work by row locks, one alert at a time; an alert is removed
 * in the transaction in which the sink takes it.
 */
import { randomUUID } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { alertEventSchema, type Issue } from "../../shared/alerts.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { alertOutbox } from "../db/schema/journal.ts";
import { type AlertSink, AlertsAlreadyTaken } from "./alert-sink.ts";

/** How long a replica keeps an alert that it has claimed: longer than a sink needs for one alert with all its attempts. */
const CLAIMED_FOR_MS = 120_000;

/** Raises an issue within the transaction. */
export async function raiseInTransaction(tx: Transaction, issue: Issue, at: Date): Promise<void> {
  await tx.insert(alertOutbox).values({ event: { ...issue, id: randomUUID(), atMs: at.getTime(), count: 1 } });
}

export class AlertOutbox {
  readonly #db: Database;
  readonly #sink: AlertSink;
  readonly #cell: string;
  readonly #now: () => Date;

  /** `cell`: the control service's own cell, which its alerts name. */
  constructor(db: Database, sink: AlertSink, cell: string, now: () => Date) {
    this.#db = db;
    this.#sink = sink;
    this.#cell = cell;
    this.#now = now;
  }

  /**
   * Hands over every waiting alert, the oldest first. Rejects when database or sink do not answer; alerts that are left
   * keep waiting.
   */
  async deliver(): Promise<{ readonly alerts: number }> {
    let alerts = 0;
    for (let claimed = await this.#claim(); claimed !== null; claimed = await this.#claim()) {
      const { seq, event } = claimed;
      try {
        const alert = { ...alertEventSchema.parse(event), cell: this.#cell };
        await this.#sink.take([alert], async (tx) => await remove(tx, seq));
      } catch (error) {
        if (error instanceof AlertsAlreadyTaken) continue;
        await this.#giveBack(seq);
        throw error;
      }
      alerts += 1;
    }
    return { alerts };
  }

  async #claim(): Promise<typeof alertOutbox.$inferSelect | null> {
    const now = this.#now();
    const free = sql`SELECT seq FROM alert_outbox WHERE claimed_until IS NULL OR claimed_until < ${now.toISOString()}::timestamptz ORDER BY seq LIMIT 1 FOR UPDATE SKIP LOCKED`;
    const [row] = await this.#db
      .update(alertOutbox)
      .set({ claimed_until: new Date(now.getTime() + CLAIMED_FOR_MS) })
      .where(sql`${alertOutbox.seq} = ANY(ARRAY(${free}))`)
      .returning();
    return row ?? null;
  }

  async #giveBack(seq: number): Promise<void> {
    await this.#db
      .update(alertOutbox)
      .set({ claimed_until: null })
      .where(eq(alertOutbox.seq, seq))
      .catch(() => undefined);
  }
}

/** Removes the alert. Throws AlertsAlreadyTaken when another replica has removed it. */
async function remove(tx: Transaction, seq: number): Promise<void> {
  const removed = await tx.delete(alertOutbox).where(eq(alertOutbox.seq, seq)).returning({ seq: alertOutbox.seq });
  if (removed.length === 0) throw new AlertsAlreadyTaken(`alert ${seq} has been taken`);
}

/**
 * Alerts that are raised by a change of the database: they are committed with it, and handed to the sink afterwards, so
 * that a crash between the two loses none. Replicas share the work by row locks; one that was handed over and could not be
 * removed is handed over again, which its cooldown makes a repeat.
 */
import { randomUUID } from "node:crypto";
import { eq, inArray, sql } from "drizzle-orm";
import { alertEventSchema, type Issue } from "../../shared/alerts.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { alertOutbox } from "../db/schema/journal.ts";
import type { AlertSink } from "./alert-sink.ts";

const BATCH = 10;
/** Longer than a sink needs for a batch. */
const CLAIMED_FOR_MS = 120_000;

/** Raises an issue with the transaction. */
export async function raiseIn(tx: Transaction, issue: Issue, at: Date): Promise<void> {
  await tx.insert(alertOutbox).values({ event: { ...issue, id: randomUUID(), atMs: at.getTime() } });
}

export class AlertOutbox {
  readonly #db: Database;
  readonly #sink: AlertSink;
  readonly #cell: string;
  readonly #now: () => Date;

  /** `cell`: the control service's own, which its alerts carry. */
  constructor(db: Database, sink: AlertSink, cell: string, now: () => Date) {
    this.#db = db;
    this.#sink = sink;
    this.#cell = cell;
    this.#now = now;
  }

  /** Hands over everything that waits, oldest first. Rejects when database or sink do not answer; what is left waits on. */
  async deliver(): Promise<{ readonly alerts: number }> {
    let alerts = 0;
    for (;;) {
      const claimed = await this.#claim();
      for (const [at, { seq, event }] of claimed.entries()) {
        try {
          await this.#sink.take({ ...alertEventSchema.parse(event), cell: this.#cell });
        } catch (error) {
          await this.#giveBack(claimed.slice(at).map((row) => row.seq));
          throw error;
        }
        await this.#db.delete(alertOutbox).where(eq(alertOutbox.seq, seq));
        alerts += 1;
      }
      if (claimed.length < BATCH) return { alerts };
    }
  }

  async #claim(): Promise<readonly (typeof alertOutbox.$inferSelect)[]> {
    const now = this.#now();
    const free = sql`SELECT seq FROM alert_outbox WHERE claimed_until IS NULL OR claimed_until < ${now.toISOString()}::timestamptz ORDER BY seq LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`;
    const rows = await this.#db
      .update(alertOutbox)
      .set({ claimed_until: new Date(now.getTime() + CLAIMED_FOR_MS) })
      .where(sql`${alertOutbox.seq} = ANY(ARRAY(${free}))`)
      .returning();
    return rows.toSorted((a, b) => a.seq - b.seq);
  }

  async #giveBack(seqs: readonly number[]): Promise<void> {
    await this.#db
      .update(alertOutbox)
      .set({ claimed_until: null })
      .where(inArray(alertOutbox.seq, [...seqs]))
      .catch(() => undefined);
  }
}

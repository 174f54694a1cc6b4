/**
 * Publishes committed changes to the hot copies and the cells (docs/rules/freshness.md#publishing,
 * docs/rules/freshness.md#write-path). Content is built from the rows as they are when it is published, under a lock per
 * copy, so that neither concurrent writers nor replicas can publish something older. What fails is repeated with backoff
 * until it succeeds. A store that is down does not hold back the cells.
 */
import { and, count, countDistinct, inArray, isNull, lte, min, sql } from "drizzle-orm";
import type { Logger } from "pino";
import { z } from "zod";
import { GatewayError } from "../../shared/errors.ts";
import { storeKeys } from "../../shared/records.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import { type Change, type RevItem, revItemSchema } from "../../shared/wire/internal.ts";
import type { Database } from "../db/connect.ts";
import { type OutboxRow, outbox } from "../db/schema/journal.ts";
import type { Cells } from "../kernel/cells/cells.ts";
import type { Publisher, Unconfirmed } from "../kernel/context.ts";
import type { HotStore } from "../kernel/hot-store/hot-store.ts";
import { failureLevel } from "../kernel/store-watch.ts";
import { buildCopies } from "./build-copies.ts";
import { withChangeValues } from "./change-values.ts";

/** How long a Management write waits for the confirmation. */
const ANSWER_WITHIN_MS = 1000;
const BATCH = 100;
const DONE_KEPT = sql`interval '1 day'`;

export class OutboxPublisher implements Publisher {
  readonly #db: Database;
  readonly #store: HotStore;
  readonly #cells: Cells;
  readonly #log: Logger;
  readonly #answerWithinMs: number;
  /** The last publication could not reach the store. */
  #storeAway = false;

  constructor(db: Database, store: HotStore, cells: Cells, log: Logger, answerWithinMs = ANSWER_WITHIN_MS) {
    this.#db = db;
    this.#store = store;
    this.#cells = cells;
    this.#log = log;
    this.#answerWithinMs = answerWithinMs;
  }

  async publish(outboxIds: readonly number[], withinMs = this.#answerWithinMs): Promise<"done" | "pending"> {
    if (outboxIds.length === 0) return "done";
    const timer = Promise.withResolvers<"pending">();
    const handle = setTimeout(() => timer.resolve("pending"), withinMs);
    try {
      return await Promise.race([this.#publishIds(outboxIds), timer.promise]);
    } finally {
      clearTimeout(handle);
    }
  }

  /**
   * Publishes what is due. When a cell or the store is reachable again, it publishes everything that waits: until then the
   * cell serves by what it knew before, and requests whose records the store does not have are refused. Returns how many
   * rows still wait.
   */
  async publishDue(now: Date): Promise<number> {
    const isBack = await this.#isBack();
    const due = await this.#db
      .select()
      .from(outbox)
      .where(and(isNull(outbox.done_at), isBack ? undefined : lte(outbox.next_attempt_at, now)))
      .orderBy(outbox.id)
      .limit(1000);
    if (due.length > 0) await this.#publishRows(due, true);
    return await this.pending();
  }

  /** True when a cell or the store had failed and answers again. */
  async #isBack(): Promise<boolean> {
    const cells = await this.#cells.recovered();
    if (!this.#storeAway) return cells.length > 0;
    this.#storeAway = !(await this.#store.get([storeKeys.settings("boons")]).then(
      () => true,
      () => false,
    ));
    return cells.length > 0 || !this.#storeAway;
  }

  /** Deletes rows that were confirmed more than a day ago. */
  async prune(): Promise<void> {
    await this.#db.delete(outbox).where(sql`${outbox.done_at} < now() - ${DONE_KEPT}`);
  }

  /** How many rows are not confirmed yet. */
  async pending(): Promise<number> {
    return await this.#db.$count(outbox, isNull(outbox.done_at));
  }

  /** Those rows, and since when the first of them waits, epoch ms. */
  async backlog(): Promise<{ readonly pending: number; readonly sinceMs: number | null }> {
    const [found] = await this.#db
      .select({ pending: count(), since: min(outbox.created_at) })
      .from(outbox)
      .where(isNull(outbox.done_at));
    return { pending: found?.pending ?? 0, sinceMs: found?.since?.getTime() ?? null };
  }

  /** The changes in those rows: a change that affects many copies counts once. */
  async unconfirmed(): Promise<Unconfirmed> {
    const [found] = await this.#db
      .select({ changes: countDistinct(outbox.rev), since: min(outbox.created_at) })
      .from(outbox)
      .where(isNull(outbox.done_at));
    return { changes: found?.changes ?? 0, sinceMs: found?.since?.getTime() ?? null };
  }

  /** Rewrites hot copies under their locks. Rejects when the store does not answer. */
  async refresh(hotKeys: readonly string[]): Promise<void> {
    for (let at = 0; at < hotKeys.length; at += BATCH) {
      const batch = [...new Set(hotKeys.slice(at, at + BATCH))].sort();
      await this.#db.transaction(async (tx) => {
        await tx.execute(
          sql`SELECT pg_advisory_xact_lock(hashtextextended(k, 0)) FROM jsonb_array_elements_text(${JSON.stringify(batch)}::jsonb) AS k`,
        );
        const texts = await buildCopies(tx, batch);
        await this.#store.put(batch.map((hotKey) => ({ hotKey, text: texts.get(hotKey) ?? null })));
      });
    }
  }

  async #publishIds(ids: readonly number[]): Promise<"done" | "pending"> {
    try {
      let done = true;
      for (let at = 0; at < ids.length; at += 1000) {
        const rows = await this.#db
          .select()
          .from(outbox)
          .where(and(isNull(outbox.done_at), inArray(outbox.id, ids.slice(at, at + 1000))))
          .orderBy(outbox.id);
        done = (await this.#publishRows(rows, false)) && done;
      }
      return done ? "done" : "pending";
    } catch (error) {
      this.#log[failureLevel(error)]({ event: "publish_failed", reason: rootCause(error) });
      return "pending";
    }
  }

  /**
   * True when store and cells have confirmed everything. A record that cannot be built has faulty rows of its own; the
   * others are published without it.
   */
  async #publishRows(rows: readonly OutboxRow[], patient: boolean): Promise<boolean> {
    const items = newest(rows.flatMap((row) => z.array(revItemSchema).parse(JSON.parse(row.invalidation))));
    let changes: readonly Change[] = items;
    let storeError: string | null = null;
    let level = failureLevel(null);
    try {
      changes = await withChangeValues(this.#db, items);
      await this.refresh(rows.map((row) => row.hot_key).filter((hotKey) => hotKey !== ""));
      await this.#store.announce(items.map(messageOf));
    } catch (error) {
      if (rows.length > 1 && error instanceof z.ZodError) return await this.#publishHalves(rows, patient);
      this.#storeAway ||= error instanceof GatewayError;
      storeError = `${error instanceof GatewayError ? "key-value store" : "no copy"}: ${rootCause(error)}`;
      level = failureLevel(error);
    }
    const missing: string[] = [];
    for (let at = 0; at < changes.length; at += 1000)
      missing.push(...(await this.#cells.invalidate(changes.slice(at, at + 1000), patient)));
    const failure = storeError ?? (missing.length > 0 ? this.#notConfirmed(missing) : null);
    const ids = rows.map((row) => row.id);
    if (failure === null) {
      await this.#db.update(outbox).set({ done_at: new Date(), last_error: null }).where(inArray(outbox.id, ids));
      return true;
    }
    this.#log[level]({ event: "publish_incomplete", reason: failure, rows: ids.length });
    await this.#db
      .update(outbox)
      .set({
        attempts: sql`${outbox.attempts} + 1`,
        next_attempt_at: sql`now() + interval '500 milliseconds' * least(60, power(2, least(${outbox.attempts}, 6)))`,
        last_error: failure,
      })
      .where(inArray(outbox.id, ids));
    return false;
  }

  #notConfirmed(missing: readonly string[]): string {
    const cells = [...new Set(missing)].map(
      (cell) => `${cell} (${this.#cells.failureOf(cell) ?? "no answer in time"})`,
    );
    return `not confirmed by ${cells.join(", ")}`;
  }

  async #publishHalves(rows: readonly OutboxRow[], patient: boolean): Promise<boolean> {
    const middle = rows.length >> 1;
    const first = await this.#publishRows(rows.slice(0, middle), patient);
    return (await this.#publishRows(rows.slice(middle), patient)) && first;
  }
}

/** One item per record: the newest. */
function newest(items: readonly RevItem[]): readonly RevItem[] {
  const byName = new Map<string, RevItem>();
  for (const item of items) {
    const name = `${item.kind}:${item.id}`;
    if ((byName.get(name)?.rev ?? -1) < item.rev) byName.set(name, item);
  }
  return [...byName.values()];
}

/** The payload on the channel (docs/rules/freshness.md#publishing). */
function messageOf(item: RevItem): string {
  return item.kind === "key" ? item.id : item.kind === "all" ? "*" : `${item.kind}:${item.id}`;
}

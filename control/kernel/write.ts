/**
 * The fixed steps of every write (docs/rules/freshness.md#write-path): one transaction with the change, its audit entry and
 * its outbox rows; then the publisher, for which the write waits up to a second.
 */
import { and, eq, inArray, isNotNull, or, sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { auditLog, outbox } from "../db/schema/journal.ts";
import { apiKeys, fairshareGroups, tenants } from "../db/schema/tenancy.ts";
import type { VerbContext, Written } from "./context.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { WriteJournal } from "./write-journal.ts";

/**
 * Held from drawing a revision until its commit, so that revisions commit in their order. If the older of two committed
 * last, no cell would accept its item as new, and every cell would call its copy stale.
 */
const WRITE_LOCK = 727275;

/** A write with fewer outbox rows is published before the outbox job runs the next time. */
const LARGE_WRITE = 500;

/**
 * Runs a change. Throws what the change throws, or 409 or 503 by the database's error. `publishWithinMs`: how long it waits for
 * the publisher, if not for a second.
 */
export async function write<T>(
  ctx: VerbContext,
  change: (tx: Transaction, journal: WriteJournal) => Promise<T>,
  publishWithinMs?: number,
): Promise<Written<T>> {
  const { record, ids, checkIsDue } = await withDatabaseErrors(async () =>
    ctx.db.transaction(async (tx) => {
      await tx.execute(sql`SELECT pg_advisory_xact_lock(${WRITE_LOCK})`);
      const { rows } = (await tx.execute(sql`SELECT nextval('config_rev') AS rev`)) as unknown as {
        rows: { rev: string | number }[];
      };
      const journal = new WriteJournal(Number(rows[0]?.rev));
      const changed = await change(tx, journal);
      await saveAudits(tx, ctx, journal);
      const saved = await saveOutbox(tx, journal);
      await ctx.beforeCommit?.(tx, changed);
      return { record: changed, ids: saved, checkIsDue: journal.checkIsDue };
    }),
  );
  if (checkIsDue) ctx.checkIsDue();
  return { record, sync: await ctx.publisher.publish(ids, publishWithinMs) };
}

async function saveAudits(
  tx: Transaction,
  { actor, address }: Pick<VerbContext, "actor" | "address">,
  journal: WriteJournal,
): Promise<void> {
  if (journal.audits.length === 0) return;
  await tx.insert(auditLog).values(
    journal.audits.map((entry) => ({
      actor,
      address,
      action: entry.action,
      entity_type: entry.entityType,
      entity_id: entry.entityId,
      detail: entry.detail ?? {},
    })),
  );
}

/**
 * Hot copies are written before the cells get the items that outdate them: a cell that learns of a change must find it in
 * the store.
 */
async function saveOutbox(tx: Transaction, journal: WriteJournal): Promise<readonly number[]> {
  const ids: number[] = [];
  const chosen = [
    ...journal.tenantsOfKeys.map((id) => sql`${apiKeys.tenant_id} = ${id}::uuid`),
    ...journal.groupsOfKeys.map((name) =>
      inArray(apiKeys.tenant_id, tx.select({ id: tenants.id }).from(tenants).where(eq(tenants.fairshare_group, name))),
    ),
  ];
  if (journal.outdatesAll) {
    const groups = tx
      .select({ name: fairshareGroups.name })
      .from(fairshareGroups)
      .where(eq(fairshareGroups.rev, journal.rev));
    const ofTenants = tx
      .select({ id: tenants.id })
      .from(tenants)
      .where(or(eq(tenants.rev, journal.rev), inArray(tenants.fairshare_group, groups)));
    chosen.push(sql`(${apiKeys.rev} = ${journal.rev} OR ${inArray(apiKeys.tenant_id, ofTenants)})`);
    journal.hot.push({ hotKey: "", item: { kind: "all", id: "*", rev: journal.rev } });
  }
  const hashes = [apiKeys.key_hash, apiKeys.previous_key_hash];
  for (const [keys, hash] of chosen.flatMap((each) => hashes.map((hash) => [each, hash] as const))) {
    const saved = await tx
      .insert(outbox)
      .select(
        tx
          .select({
            id: sql<number>`nextval('outbox_id_seq')`.as("id"),
            hot_key: sql<string>`'key:' || ${hash}`.as("hot_key"),
            payload: sql`null::jsonb`.as("payload"),
            rev: sql<number>`${journal.rev}::bigint`.as("rev"),
            invalidation: sql<string>`'[]'`.as("invalidation"),
            attempts: sql<number>`0`.as("attempts"),
            next_attempt_at: sql<Date>`now()`.as("next_attempt_at"),
            done_at: sql`null::timestamptz`.as("done_at"),
            last_error: sql`null::text`.as("last_error"),
            created_at: sql<Date>`now()`.as("created_at"),
          })
          .from(apiKeys)
          .where(and(keys, isNotNull(hash))),
      )
      .returning({ id: outbox.id });
    ids.push(...saved.map((row) => row.id));
  }
  for (let at = 0; at < journal.hot.length; at += 1000) {
    const saved = await tx
      .insert(outbox)
      .values(
        journal.hot.slice(at, at + 1000).map(({ hotKey, item }) => ({
          hot_key: hotKey,
          rev: journal.rev,
          invalidation: JSON.stringify(item === null ? [] : [item]),
        })),
      )
      .returning({ id: outbox.id });
    ids.push(...saved.map((row) => row.id));
  }
  // otherwise the outbox job would publish the rows of a large write a second time while the write does so
  if (ids.length > LARGE_WRITE)
    await tx
      .update(outbox)
      .set({ next_attempt_at: sql`now() + ${ids.length} * interval '5 milliseconds'` })
      .where(eq(outbox.rev, journal.rev));
  return ids;
}

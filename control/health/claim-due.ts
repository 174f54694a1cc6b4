/**
 * Claims models whose check is due, so that no other replica takes them (docs/rules/health.md#worker). It selects them
 * with row locks, skips rows that another replica has locked, and moves their next check to later than a check can
 * last. If the replica dies, they become due again at that time.
 */
import { and, eq, exists, inArray, lte, or, sql } from "drizzle-orm";
import type { Database, Transaction } from "../db/connect.ts";
import { modelEndpoints } from "../db/schema/endpoints.ts";
import { modelHealth } from "../db/schema/models.ts";
import { INTERVAL_MAX_SECS } from "./schedule.ts";

/** Ids of at most `limit` models, longest due first. Only this caller may check them for `claimedForMs`. */
export async function claimDue(
  db: Database,
  now: Date,
  limit: number,
  claimedForMs: number,
): Promise<readonly string[]> {
  return await db.transaction(async (tx) => {
    const ids = await stillDue(tx, await lockDue(tx, now, limit), now);
    if (ids.length === 0) return ids;
    const until = { next_check_at: new Date(now.getTime() + claimedForMs) };
    await tx.update(modelHealth).set(until).where(inArray(modelHealth.model_id, ids));
    await tx.update(modelEndpoints).set(until).where(inArray(modelEndpoints.model_id, ids));
    return ids;
  });
}

/**
 * Makes models due whose next check is further away than any check would set it: a clock that was ahead has set it.
 * `claimedForMs`: how long a check may claim a model.
 */
export async function resetFarChecks(db: Database, now: Date, claimedForMs: number): Promise<void> {
  await db.execute(sql`UPDATE model_health AS h SET next_check_at = ${now.toISOString()}::timestamptz FROM models m
    WHERE m.id = h.model_id AND h.next_check_at > ${now.toISOString()}::timestamptz
      + (2 * LEAST(m.health_check_interval_secs, ${INTERVAL_MAX_SECS}) + ${claimedForMs / 1000}::float8) * interval '1 second'`);
}

/** Adds health rows to models that a backup of an older version restored without them; they are due like new ones. */
export async function addMissingHealth(db: Database, now: Date): Promise<void> {
  await db.execute(sql`INSERT INTO model_health (model_id, next_check_at)
    SELECT id, ${now.toISOString()}::timestamptz FROM models m
    WHERE NOT EXISTS (SELECT 1 FROM model_health h WHERE h.model_id = m.id)
    ON CONFLICT DO NOTHING`);
}

async function lockDue(tx: Transaction, now: Date, limit: number): Promise<string[]> {
  const at = sql`${now.toISOString()}::timestamptz`;
  const { rows } = (await tx.execute(sql`SELECT h.model_id FROM model_health h JOIN models m ON m.id = h.model_id
    WHERE m.health_checks_enabled AND h.model_id IN (
      SELECT model_id FROM model_health WHERE next_check_at <= ${at}
      UNION SELECT model_id FROM model_endpoints WHERE enabled AND next_check_at <= ${at})
    ORDER BY h.next_check_at, h.model_id LIMIT ${limit} FOR UPDATE OF h SKIP LOCKED`)) as unknown as {
    rows: { model_id: string }[];
  };
  return rows.map((row) => row.model_id);
}

/** The models that are still due: a lock may have been granted just after another replica had claimed the model. */
async function stillDue(tx: Transaction, ids: readonly string[], now: Date): Promise<readonly string[]> {
  if (ids.length === 0) return ids;
  const endpointIsDue = tx
    .select({ id: modelEndpoints.id })
    .from(modelEndpoints)
    .where(
      and(
        eq(modelEndpoints.model_id, modelHealth.model_id),
        eq(modelEndpoints.enabled, true),
        lte(modelEndpoints.next_check_at, now),
      ),
    );
  const rows = await tx
    .select({ id: modelHealth.model_id })
    .from(modelHealth)
    .where(
      and(inArray(modelHealth.model_id, [...ids]), or(lte(modelHealth.next_check_at, now), exists(endpointIsDue))),
    );
  const due = new Set(rows.map((row) => row.id));
  return ids.filter((id) => due.has(id));
}

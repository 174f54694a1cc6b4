/**
 * Takes models whose check is due, so that no other replica takes them (decisions §10.4): chosen under row locks that
 * nobody waits for, and put off for longer than a check can take. A replica that dies gives them back by that.
 */
import { inArray, sql } from "drizzle-orm";
import type { Database } from "../db/connect.ts";
import { modelEndpoints } from "../db/schema/endpoints.ts";
import { modelHealth } from "../db/schema/models.ts";

/** Ids of at most `limit` models, longest due first, which are this caller's for `claimedForMs`. */
export async function claimDue(
  db: Database,
  now: Date,
  limit: number,
  claimedForMs: number,
): Promise<readonly string[]> {
  const at = sql`${now.toISOString()}::timestamptz`;
  return await db.transaction(async (tx) => {
    // a restored model has no health yet
    await tx.execute(sql`INSERT INTO model_health (model_id, next_check_at)
      SELECT id, ${at} FROM models m WHERE NOT EXISTS (SELECT 1 FROM model_health h WHERE h.model_id = m.id)
      ON CONFLICT DO NOTHING`);
    const { rows } = (await tx.execute(sql`SELECT h.model_id FROM model_health h JOIN models m ON m.id = h.model_id
      WHERE m.health_checks_enabled AND (h.next_check_at <= ${at} OR EXISTS (
        SELECT 1 FROM model_endpoints e WHERE e.model_id = h.model_id AND e.enabled AND e.next_check_at <= ${at}))
      ORDER BY h.next_check_at, h.model_id LIMIT ${limit} FOR UPDATE OF h SKIP LOCKED`)) as unknown as {
      rows: { model_id: string }[];
    };
    const ids = rows.map((row) => row.model_id);
    if (ids.length === 0) return ids;
    const until = { next_check_at: new Date(now.getTime() + claimedForMs) };
    await tx.update(modelHealth).set(until).where(inArray(modelHealth.model_id, ids));
    await tx.update(modelEndpoints).set(until).where(inArray(modelEndpoints.model_id, ids));
    return ids;
  });
}

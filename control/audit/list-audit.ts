/**
 * Lists the audit log, the newest entry first (docs/rules/management-api.md#audit-log).
 */
import { and, desc, eq, getTableColumns, gte, inArray, lte, or, type SQL, sql } from "drizzle-orm";
import { type AuditEntry, auditEntrySchema, auditFilterSchema } from "../../shared/schema/audit.ts";
import { auditLog } from "../db/schema/journal.ts";
import type { Page, VerbContext } from "../kernel/context.ts";
import { badCursor, createdMicros, parseFiltered, readPage, timeOf } from "../kernel/paging.ts";

/** One page. Throws 400. */
export async function listAudit(ctx: VerbContext, query: unknown): Promise<Page<AuditEntry>> {
  const { page, filter } = parseFiltered(auditFilterSchema, query);
  const { actor, action, entity_type, entity_id, replicas_of, since_ms, until_ms } = filter;
  return await readPage(
    page,
    (part) =>
      ctx.db
        .select({ ...getTableColumns(auditLog), micros: createdMicros(auditLog.ts) })
        .from(auditLog)
        .where(
          and(
            actor === undefined ? undefined : eq(auditLog.actor, actor),
            action === undefined ? undefined : inArray(auditLog.action, action),
            entity_type === undefined ? undefined : eq(auditLog.entity_type, entity_type),
            entity_id === undefined ? undefined : eq(auditLog.entity_id, entity_id),
            replicas_of === undefined ? undefined : ofReplicas(ctx, replicas_of),
            since_ms === undefined ? undefined : gte(auditLog.ts, timeOf(`${since_ms}000`)),
            until_ms === undefined ? undefined : lte(auditLog.ts, timeOf(`${until_ms}999`)),
            before(part.after),
          ),
        )
        .orderBy(desc(auditLog.ts), desc(auditLog.id))
        .limit(part.limit),
    (row) => [row.micros, String(row.id)],
    (row) => auditEntrySchema.parse({ ...row, ts: row.ts.toISOString() }),
  );
}

function before(after: readonly string[] | null): SQL | undefined {
  if (after === null) return undefined;
  const [at = "", id = ""] = after;
  if (!/^\d{1,17}$/.test(at) || !/^\d{1,18}$/.test(id)) throw badCursor();
  return sql`(${auditLog.ts}, ${auditLog.id}) < (${timeOf(at)}, ${id}::bigint)`;
}

/**
 * Entries about the replicas of a model. The entries of a replica itself name its model by a name that another model may have
 * had, so that the entry of its creation tells whose it is. Its action is no parameter, so that the partial index serves.
 */
function ofReplicas({ db }: VerbContext, modelId: string): SQL | undefined {
  const replicas = db
    .select({ id: auditLog.entity_id })
    .from(auditLog)
    .where(sql`${auditLog.action} = 'create_replica' AND ${auditLog.detail} ->> 'model_id' = ${modelId}`);
  return or(
    and(eq(auditLog.entity_type, "model_replica"), inArray(auditLog.entity_id, replicas)),
    and(
      eq(auditLog.entity_type, "managed_model"),
      eq(auditLog.entity_id, modelId),
      eq(auditLog.action, "clear_lost_replicas"),
    ),
  );
}

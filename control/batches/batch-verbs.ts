/** How admins and people of a tenant read and cancel batches (docs/rules/batches.md#management). */
import { and, eq, getTableColumns, inArray, isNull } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import { type Batch, batchFilterSchema } from "../../shared/schema/batch.ts";
import type { Database, Transaction } from "../db/connect.ts";
import type { Page, VerbContext, Written } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { beforeCreated, byNewest, createdMicros, newestWithin, parseFiltered, readPage } from "../kernel/paging.ts";
import { parseId } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { batchNames, batchRecord, rowIdOf } from "./batch-record.ts";
import { type BatchRow, batches } from "./tables.ts";

/** The newest first, one page. Throws 400. */
export async function listBatches(ctx: VerbContext, query: unknown): Promise<Page<Batch>> {
  const { page, filter } = parseFiltered(batchFilterSchema, query);
  const { tenant_id, status, key_id, q } = filter;
  const id = q === undefined ? undefined : rowIdOf("batch", q.trim());
  if (id === null) return { rows: [], next: null };
  return await readPage(
    page,
    (part) => {
      const { where, orderBy } =
        tenant_id === undefined
          ? { where: beforeCreated(batches, part), orderBy: byNewest(batches) }
          : newestWithin(batches.tenant_id, tenant_id, batches, part);
      return ctx.db
        .select({ ...getTableColumns(batches), ...batchNames, micros: createdMicros(batches.created_at) })
        .from(batches)
        .where(
          and(
            where,
            status === undefined ? undefined : eq(batches.status, status),
            key_id === undefined ? undefined : eq(batches.key_id, key_id),
            id === undefined ? undefined : eq(batches.id, id),
          ),
        )
        .orderBy(...orderBy)
        .limit(part.limit);
    },
    (row) => [row.micros, row.id],
    batchRecord,
  );
}

/** Throws 404. */
export async function getBatch(ctx: VerbContext, given: string): Promise<Batch> {
  return batchRecord(await shownRow(ctx.db, parseId(given)));
}

/** Starts no further line; one that has ended stays as it is. Throws 404. */
export async function cancelBatch(ctx: VerbContext, given: string): Promise<Written<Batch>> {
  const id = parseId(given);
  return await write(ctx, async (tx, journal) => {
    const row = await shownRow(tx, id);
    ctx.checkRecord?.(batchRecord(row));
    const cancelled = await markCancelled(tx, id, ctx.now());
    if (cancelled !== null) journal.audit({ action: "cancel_batch", entityType: "batch", entityId: id });
    return batchRecord({ ...row, ...cancelled });
  });
}

/** The batch, if it was not ending already; null: it was. */
export async function markCancelled(db: Database | Transaction, id: string, now: Date): Promise<BatchRow | null> {
  const open = and(
    eq(batches.id, id),
    isNull(batches.ended_at),
    inArray(batches.status, ["validating", "in_progress"]),
  );
  const marked = { status: "cancelling", cancelling_at: now, updated_at: now } as const;
  const [row] = await db.update(batches).set(marked).where(open).returning();
  return row ?? null;
}

async function shownRow(db: Database | Transaction, id: string) {
  const [row] = await withDatabaseErrors(async () =>
    db
      .select({ ...getTableColumns(batches), ...batchNames })
      .from(batches)
      .where(eq(batches.id, id)),
  );
  if (row === undefined) throw new GatewayError("not_found");
  return row;
}

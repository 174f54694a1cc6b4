/** What callers of the data plane do with their files and batches (docs/rules/batches.md#routes). */
import { and, desc, eq, getTableColumns, inArray, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import type { z } from "zod";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { createBatchSchema } from "../../shared/schema/batch.ts";
import type { Transaction } from "../db/connect.ts";
import { tenants } from "../db/schema/tenancy.ts";
import type { VerbContext } from "../kernel/context.ts";
import { keepConsoleKey } from "../kernel/keep-console-key.ts";
import { createdMicros, timeOf } from "../kernel/paging.ts";
import { fieldError } from "../kernel/parse.ts";
import { rowIdOf } from "./batch-record.ts";
import { checkQuota } from "./files/file-store.ts";
import { type BatchRow, batches, type FileRow, files } from "./tables.ts";

const WINDOW_MS = 86_400_000;
/** Rows of a list that one statement reads: the embedded database takes the thread for some ms. */
const FILES_AT_ONCE = 500;
/** With metadata in escapes one is 55 KB. */
const BATCHES_AT_ONCE = 10;

/** Who asks, by what the Worker says. */
export interface Caller {
  readonly ctx: VerbContext;
  readonly tenantId: string;
  readonly keyId: string;
}

/** Throws 404 `object_not_found`. */
export async function ownFile({ ctx, tenantId }: Caller, given: string): Promise<FileRow> {
  const id = rowIdOf("file", given);
  const mine = and(eq(files.id, id ?? ""), eq(files.tenant_id, tenantId), eq(files.complete, true));
  const [row] = id === null ? [] : await ctx.db.select().from(files).where(mine);
  if (row === undefined) throw new GatewayError("object_not_found", { value: given.slice(0, 100) });
  return row;
}

/** Throws 404 `object_not_found`. */
export async function ownBatch({ ctx, tenantId }: Caller, given: string): Promise<BatchRow> {
  const id = rowIdOf("batch", given);
  const mine = and(eq(batches.id, id ?? ""), eq(batches.tenant_id, tenantId));
  const [row] = id === null ? [] : await ctx.db.select().from(batches).where(mine);
  if (row === undefined) throw new GatewayError("object_not_found", { value: given.slice(0, 100) });
  return row;
}

interface PageOptions {
  readonly limit: number;
  /** The row after which the page begins. */
  readonly lastId: string | null;
}

/** The files of a page, as each statement reads them. */
export function ownFiles(
  { ctx, tenantId }: Caller,
  {
    limit,
    lastId,
    order,
    purpose,
  }: PageOptions & { readonly order: "asc" | "desc"; readonly purpose: string | undefined },
): AsyncGenerator<readonly FileRow[]> {
  const at = sql`(${files.created_at}, ${files.id})`;
  const wanted = and(
    eq(files.tenant_id, tenantId),
    eq(files.complete, true),
    purpose === undefined ? undefined : sql`${files.purpose} = ${purpose}`,
  );
  const ordered = order === "desc" ? [desc(files.created_at), desc(files.id)] : [files.created_at, files.id];
  const start = lastId === null ? null : placeOf(files, lastId);
  return inParts({ limit, atOnce: FILES_AT_ONCE, start }, async (last, partMax) =>
    ctx.db
      .select({ ...getTableColumns(files), micros: createdMicros(files.created_at) })
      .from(files)
      .where(and(wanted, last === null ? undefined : beyond(at, last, order)))
      .orderBy(...ordered)
      .limit(partMax),
  );
}

/** Of the errors of a batch, a list has only the first. */
const firstError = sql<BatchRow["errors"]>`CASE WHEN jsonb_array_length(${batches.errors}) > 1
  THEN jsonb_build_array(${batches.errors} -> 0) ELSE ${batches.errors} END`;

/** The batches of a page, as each statement reads them, the newest first. */
export function ownBatches(
  { ctx, tenantId }: Caller,
  { limit, lastId }: PageOptions,
): AsyncGenerator<readonly BatchRow[]> {
  const at = sql`(${batches.created_at}, ${batches.id})`;
  const start = lastId === null ? null : placeOf(batches, lastId);
  return inParts({ limit, atOnce: BATCHES_AT_ONCE, start }, async (last, partMax) =>
    ctx.db
      .select({ ...getTableColumns(batches), errors: firstError, micros: createdMicros(batches.created_at) })
      .from(batches)
      .where(and(eq(batches.tenant_id, tenantId), last === null ? undefined : beyond(at, last, "desc")))
      .orderBy(desc(batches.created_at), desc(batches.id))
      .limit(partMax),
  );
}

/** `start`: behind which the first part begins; null: with the first row. */
async function* inParts<Row extends { readonly id: string; readonly micros: string }>(
  { limit, atOnce, start }: { readonly limit: number; readonly atOnce: number; readonly start: SQL | null },
  read: (last: SQL | null, partMax: number) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  let last = start;
  for (let left = limit; left > 0; ) {
    const partMax = Math.min(atOnce, left);
    const part = await read(last, partMax);
    yield part;
    const end = part.at(-1);
    if (end === undefined || part.length < partMax) return;
    left -= part.length;
    // not by its id: it can be deleted meanwhile
    last = sql`(${timeOf(end.micros)}, ${end.id}::uuid)`;
  }
}

/** Where a row is in the order of its list. The time is compared as the database has it: ours has fewer digits. */
const placeOf = (table: typeof files | typeof batches, id: string): SQL =>
  sql`(SELECT l.created_at, l.id FROM ${table} l WHERE l.id = ${id})`;

function beyond(at: SQL, last: SQL, order: "asc" | "desc"): SQL {
  return order === "desc" ? sql`${at} < ${last}` : sql`${at} > ${last}`;
}

/** Throws 400, 403 `file_quota_exceeded`, or 404 for the file. */
export async function createBatch(
  caller: Caller,
  { input_file_id, endpoint, metadata }: z.output<typeof createBatchSchema>,
): Promise<BatchRow> {
  const { ctx, tenantId, keyId } = caller;
  const file = await ownFile(caller, input_file_id);
  if (file.purpose !== "batch") throw fieldError("input_file_id", "must be a file with the purpose batch");
  const now = ctx.now();
  const expiresAt = new Date(now.getTime() + WINDOW_MS);
  const made = await ctx.db.transaction(async (tx) => {
    // one after the other: what they count is what the next one adds to
    await tx.select({ id: tenants.id }).from(tenants).where(eq(tenants.id, tenantId)).for("no key update");
    const open = await tx.$count(batches, and(eq(batches.tenant_id, tenantId), isNull(batches.ended_at)));
    if (open >= LIMITS.openBatches)
      throw fieldError("input_file_id", `must wait: the tenant has ${open} batches that have not ended, the most`);
    const [row] = await tx
      .insert(batches)
      .values({
        tenant_id: tenantId,
        key_id: keyId,
        endpoint,
        input_file_id: file.id,
        status: "validating",
        metadata: metadata ?? null,
        expires_at: expiresAt,
        created_at: now,
        updated_at: now,
      })
      .returning();
    if (row === undefined) throw new GatewayError("internal_error");
    await checkQuota(tx, tenantId);
    await forgetEnded(tx, tenantId);
    return row;
  });
  try {
    await keepConsoleKey(ctx, keyId, expiresAt);
  } catch (error) {
    await ctx.db.delete(batches).where(eq(batches.id, made.id));
    throw error;
  }
  return made;
}

/** Deletes the oldest ended batches of a tenant that has too many: they are short, but nothing else bounds them. */
async function forgetEnded(tx: Transaction, tenantId: string): Promise<void> {
  const old = tx
    .select({ id: batches.id })
    .from(batches)
    .where(and(eq(batches.tenant_id, tenantId), isNotNull(batches.ended_at)))
    .orderBy(desc(batches.created_at), desc(batches.id))
    .offset(LIMITS.endedBatches);
  await tx.delete(batches).where(inArray(batches.id, old));
}

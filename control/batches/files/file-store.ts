/**
 * Files of tenants, in pieces: none is ever held whole (docs/rules/batches.md#files). A file that was not completed is seen by
 * nobody.
 */
import { and, desc, eq, inArray, isNull, lt, not, or, type SQL, sql } from "drizzle-orm";
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { FilePurpose } from "../../../shared/schema/batch.ts";
import type { Database, Transaction } from "../../db/connect.ts";
import { tenants } from "../../db/schema/tenancy.ts";
import { fieldError } from "../../kernel/parse.ts";
import { batches, type FileRow, filePieces, files } from "../tables.ts";
import { type MovedAnswer, moveAnswer, sizeOfAnswer } from "./answers.ts";
import { type FileStore, insertPiece, piecesOf, type StagedPiece, stagedPieces } from "./contents.ts";

const NEWLINE = 10;
/** An upload takes less: who stored it has died. */
const UPLOAD_MOST_MS = 3_600_000;
/** Of old files: each look for them reads those that stay. */
const DELETED_AT_ONCE = 100;
/** By one statement: 2 MiB in the database. */
const PIECES_DELETED_AT_ONCE = 8;

const isOfOpenBatch = sql`EXISTS (SELECT 1 FROM ${batches} b WHERE b.input_file_id = ${files.id} AND b.ended_at IS NULL)`;

interface NewFile {
  readonly tenantId: string;
  readonly purpose: FilePurpose;
  readonly filename: string;
}

/**
 * Stores a file of a client and returns its id; it is complete once {@link completeFile} says so. Throws 413, 400 for too many
 * lines or none, and 403 `file_quota_exceeded`.
 */
export async function storeUpload(
  { db, bucket }: FileStore,
  { tenantId, purpose, filename }: NewFile,
  body: AsyncIterable<Uint8Array>,
): Promise<string> {
  const [row] = await db.insert(files).values({ tenant_id: tenantId, purpose, filename }).returning({ id: files.id });
  if (row === undefined) throw new GatewayError("internal_error");
  const { id } = row;
  try {
    await checkQuota(db, tenantId);
    for await (const piece of stagedPieces(bucket, { id, last: -1 }, checkedUpload(body))) {
      await insertPiece(db, id, piece);
      await checkQuota(db, tenantId);
    }
    return id;
  } catch (error) {
    await deleteInSteps(db, eq(files.id, id));
    throw error;
  }
}

/** The body while it keeps to the bounds of a file. Throws 413, and 400 for too many lines or none. */
async function* checkedUpload(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let lines = 0;
  /** The byte before. */
  let last = NEWLINE;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) lines += 1;
    last = chunk.at(-1) ?? last;
    if (bytes > LIMITS.fileBytes) throw new GatewayError("request_too_large");
    // what follows the last line break is a line
    if (lines + (last === NEWLINE ? 0 : 1) > LIMITS.fileLines)
      throw fieldError("file", `must have at most ${LIMITS.fileLines} lines`);
    yield chunk;
  }
  if (bytes === 0) throw fieldError("file", "must not be empty");
}

/** Bytes, or the answer whose file has this id. */
export type ResultPart = Uint8Array | { readonly answer: string };

/** Pieces that are to be added to a file that the gateway makes. They may exceed the tenant's quota: results are never lost. */
export async function stageResults(
  { db, bucket }: FileStore,
  id: string,
  body: AsyncIterable<ResultPart>,
): Promise<readonly (StagedPiece | MovedAnswer)[]> {
  const [last] = await db
    .select({ n: filePieces.n })
    .from(filePieces)
    .where(eq(filePieces.file_id, id))
    .orderBy(desc(filePieces.n))
    .limit(1);
  const pieces: (StagedPiece | MovedAnswer)[] = [];
  let n = last?.n ?? -1;
  const stage = async (bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> => {
    for await (const piece of stagedPieces(bucket, { id, last: n }, bytes)) {
      pieces.push(piece);
      n = piece.n;
    }
  };
  if (bucket !== null) {
    await stage(bytesOf(db, body));
    return pieces;
  }
  let held: Uint8Array[] = [];
  for await (const part of body) {
    if (part instanceof Uint8Array) {
      held.push(part);
      continue;
    }
    await stage(held);
    held = [];
    const { pieces: count, length } = await sizeOfAnswer(db, part.answer);
    pieces.push({ from: part.answer, n: n + 1, length });
    n += count;
  }
  await stage(held);
  return pieces;
}

/** A bucket cannot move what the database has: it is read piece by piece. */
async function* bytesOf(db: Database, body: AsyncIterable<ResultPart>): AsyncGenerator<Uint8Array> {
  for await (const part of body)
    if (part instanceof Uint8Array) yield part;
    else yield* piecesOf({ db, bucket: null }, part.answer);
}

/** Adds pieces to a file, which is made if it is not there. */
export async function addResults(
  tx: Transaction,
  { id, tenantId, purpose, filename }: NewFile & { readonly id: string },
  pieces: readonly (StagedPiece | MovedAnswer)[],
): Promise<void> {
  await tx.insert(files).values({ id, tenant_id: tenantId, purpose, filename }).onConflictDoNothing();
  for (const piece of pieces) await ("from" in piece ? moveAnswer(tx, id, piece) : insertPiece(tx, id, piece));
}

/**
 * Checks all files of a tenant, those under way included. The lines of a batch that has not ended count as much as its file.
 * Throws 403 `file_quota_exceeded`.
 */
export async function checkQuota(db: Database | Transaction, tenantId: string): Promise<void> {
  const mine = sql`${files} f WHERE f.tenant_id = ${tenantId}`;
  const ofOpenBatches = sql`(SELECT coalesce(sum(f.bytes), 0) FROM ${batches} b JOIN ${files} f ON f.id = b.input_file_id
    WHERE b.tenant_id = ${tenantId} AND b.ended_at IS NULL)`;
  const [row] = await db
    .select({
      quota: tenants.files_bytes,
      count: sql<number>`(SELECT count(*)::int FROM ${mine} AND f.answer_of IS NULL)`,
      used: sql<string>`(SELECT coalesce(sum(f.bytes), 0) FROM ${mine}) + ${ofOpenBatches}`,
    })
    .from(tenants)
    .where(eq(tenants.id, tenantId));
  if (row === undefined) throw new GatewayError("tenant_not_found");
  if (row.count > LIMITS.filesOfTenant)
    throw new GatewayError("file_quota_exceeded", { value: `${LIMITS.filesOfTenant} files` });
  if (Number(row.used) > row.quota)
    throw new GatewayError("file_quota_exceeded", { value: `${row.quota} bytes, with lines of open batches` });
}

export async function completeFile(db: Database, id: string, expiresAt: Date | null): Promise<FileRow> {
  const [row] = await db
    .update(files)
    .set({ complete: true, expires_at: expiresAt })
    .where(eq(files.id, id))
    .returning();
  if (row === undefined) throw new GatewayError("object_not_found", { value: id });
  return row;
}

/** Lines of a file, numbered from 1; `text` null: the line is too long, or not UTF-8. Blank lines are left out. */
export async function* linesOf(
  pieces: AsyncIterable<Buffer>,
): AsyncGenerator<{ readonly n: number; readonly text: string | null }> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let n = 0;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const taken = (): string | null => {
    const bytes = Buffer.concat(held);
    const isTooLong = heldBytes > LIMITS.batchLineBytes;
    held = [];
    heldBytes = 0;
    n += 1;
    if (isTooLong) return null;
    try {
      return decoder.decode(bytes).trim();
    } catch {
      return null;
    }
  };
  const hold = (part: Buffer): void => {
    heldBytes += part.length;
    if (heldBytes <= LIMITS.batchLineBytes) held.push(part);
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let at = piece.indexOf(NEWLINE); at !== -1; at = piece.indexOf(NEWLINE, from)) {
      hold(piece.subarray(from, at));
      from = at + 1;
      const text = taken();
      if (text !== "") yield { n, text };
    }
    hold(piece.subarray(from));
  }
  const text = taken();
  if (text !== "") yield { n, text };
}

/** Deletes a file, unless a batch that has not ended was made of it: its lines count by it. Throws 400. */
export async function deleteFile(db: Database, id: string): Promise<void> {
  const deleted = await deleteInSteps(db, eq(files.id, id));
  const [kept] = deleted > 0 ? [] : await db.select({ id: files.id }).from(files).where(eq(files.id, id));
  if (kept !== undefined) throw fieldError("id", "is the file of a batch that has not ended: cancel the batch first");
}

/**
 * Deletes files that are of no open batch, in steps that leave turns to others, their rows last. Nobody sees them from the first step
 * on, and what a process that died has left of them has expired. Returns how many.
 */
async function deleteInSteps(db: Database, which: SQL | undefined): Promise<number> {
  const gone = await db
    .update(files)
    .set({ complete: false, expires_at: new Date(0) })
    .where(and(which, not(isOfOpenBatch)))
    .returning({ id: files.id });
  if (gone.length === 0) return 0;
  const ids = gone.map(({ id }) => id);
  for (let pieces = PIECES_DELETED_AT_ONCE; pieces === PIECES_DELETED_AT_ONCE; ) {
    const some = db
      .select({ file_id: filePieces.file_id, n: filePieces.n })
      .from(filePieces)
      .where(inArray(filePieces.file_id, ids))
      .orderBy(filePieces.file_id, filePieces.n)
      .limit(PIECES_DELETED_AT_ONCE);
    const deleted = db.delete(filePieces).where(sql`(${filePieces.file_id}, ${filePieces.n}) IN (${some})`);
    pieces = (await deleted.returning({ n: filePieces.n })).length;
  }
  await db.delete(files).where(inArray(files.id, ids));
  return ids.length;
}

/** Deletes files whose time is over, and uploads that nobody completed. `before`: older ones go, too; null: none. */
export async function deleteOldFiles(db: Database, now: Date, before: Date | null): Promise<number> {
  const old = or(
    lt(files.expires_at, now),
    // results that are not whole yet have no other copy
    and(
      eq(files.purpose, "batch"),
      eq(files.complete, false),
      lt(files.created_at, new Date(now.getTime() - UPLOAD_MOST_MS)),
    ),
    before === null ? undefined : and(isNull(files.answer_of), lt(files.created_at, before)),
    // of a process that died, or whose lines another one has taken over
    sql`${files.answer_of} IN (SELECT id FROM ${batches} WHERE ended_at IS NOT NULL)`,
  );
  const some = db
    .select({ id: files.id })
    .from(files)
    .where(and(old, not(isOfOpenBatch)))
    .limit(DELETED_AT_ONCE);
  for (let deleted = 0; ; ) {
    const gone = await deleteInSteps(db, inArray(files.id, some));
    deleted += gone;
    if (gone < DELETED_AT_ONCE) return deleted;
  }
}

/**
 * Files of tenants in the database, in pieces: none is ever held whole (docs/rules/batches.md#files). A file that was not
 * completed is seen by nobody.
 */
import { and, asc, desc, eq, gt, lt, or, sql } from "drizzle-orm";
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { FilePurpose } from "../../../shared/schema/batch.ts";
import type { Database, Transaction } from "../../db/connect.ts";
import { tenants } from "../../db/schema/tenancy.ts";
import { fieldError } from "../../kernel/parse.ts";
import { type FileRow, filePieces, files } from "../tables.ts";

const PIECE_BYTES = 256 * 1024;
const NEWLINE = 10;

interface NewFile {
  readonly tenantId: string;
  readonly purpose: FilePurpose;
  readonly filename: string;
}

/**
 * Stores a file of a client and returns its id; it is complete once {@link completeFile} says so. Throws 413, 400 for too many
 * lines, and 403 `file_quota_exceeded`.
 */
export async function storeUpload(
  db: Database,
  { tenantId, purpose, filename }: NewFile,
  body: AsyncIterable<Uint8Array>,
): Promise<string> {
  const [row] = await db.insert(files).values({ tenant_id: tenantId, purpose, filename }).returning({ id: files.id });
  if (row === undefined) throw new GatewayError("internal_error");
  try {
    let bytes = 0;
    let lines = 0;
    const counted = async (piece: Buffer, n: number): Promise<void> => {
      bytes += piece.length;
      for (let at = piece.indexOf(NEWLINE); at !== -1; at = piece.indexOf(NEWLINE, at + 1)) lines += 1;
      if (bytes > LIMITS.fileBytes) throw new GatewayError("request_too_large");
      if (lines > LIMITS.fileLines) throw fieldError("file", `must have at most ${LIMITS.fileLines} lines`);
      await storePiece(db, row.id, n, piece);
      await checkQuota(db, tenantId);
    };
    let n = 0;
    for await (const piece of inPieces(body)) await counted(piece, n++);
    return row.id;
  } catch (error) {
    await db.delete(files).where(eq(files.id, row.id));
    throw error;
  }
}

/**
 * Adds to a file that the gateway makes; `known` null, or gone: it is a new one. Returns its id. It may exceed the tenant's quota:
 * results are never lost.
 */
export async function appendResults(
  tx: Transaction,
  known: string | null,
  { tenantId, purpose, filename }: NewFile,
  body: AsyncIterable<Uint8Array>,
): Promise<string> {
  const [found] = known === null ? [] : await tx.select({ id: files.id }).from(files).where(eq(files.id, known));
  const values = { tenant_id: tenantId, purpose, filename };
  const [row] = found === undefined ? await tx.insert(files).values(values).returning({ id: files.id }) : [found];
  if (row === undefined) throw new GatewayError("internal_error");
  const [last] = await tx
    .select({ n: filePieces.n })
    .from(filePieces)
    .where(eq(filePieces.file_id, row.id))
    .orderBy(desc(filePieces.n))
    .limit(1);
  let n = (last?.n ?? -1) + 1;
  for await (const piece of inPieces(body)) await storePiece(tx, row.id, n++, piece);
  return row.id;
}

async function storePiece(db: Database | Transaction, id: string, n: number, piece: Buffer): Promise<void> {
  await db.insert(filePieces).values({ file_id: id, n, bytes: piece });
  await db
    .update(files)
    .set({ bytes: sql`${files.bytes} + ${piece.length}` })
    .where(eq(files.id, id));
}

async function checkQuota(db: Database, tenantId: string): Promise<void> {
  const [row] = await db
    .select({
      quota: tenants.files_bytes,
      used: sql<string>`(SELECT coalesce(sum(f.bytes), 0) FROM ${files} f WHERE f.tenant_id = ${tenantId})`,
    })
    .from(tenants)
    .where(eq(tenants.id, tenantId));
  if (row === undefined) throw new GatewayError("tenant_not_found");
  if (Number(row.used) > row.quota) throw new GatewayError("file_quota_exceeded", { value: `${row.quota} bytes` });
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

/** Pieces of a file in their order. */
export async function* piecesOf(db: Database | Transaction, id: string): AsyncGenerator<Buffer> {
  for (let after = -1; ; ) {
    const [row] = await db
      .select({ n: filePieces.n, bytes: filePieces.bytes })
      .from(filePieces)
      .where(and(eq(filePieces.file_id, id), gt(filePieces.n, after)))
      .orderBy(asc(filePieces.n))
      .limit(1);
    if (row === undefined) return;
    yield Buffer.from(row.bytes);
    after = row.n;
  }
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

/** Deletes files whose time is over, and uploads that nobody completed. `before`: older ones go, too; null: none. */
export async function deleteOldFiles(db: Database, now: Date, before: Date | null): Promise<number> {
  const dayAgo = new Date(now.getTime() - 86_400_000);
  const old = or(
    lt(files.expires_at, now),
    // results that are not whole yet have no other copy
    and(eq(files.purpose, "batch"), eq(files.complete, false), lt(files.created_at, dayAgo)),
    before === null ? undefined : lt(files.created_at, before),
  );
  return (await db.delete(files).where(old).returning({ id: files.id })).length;
}

async function* inPieces(body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    held.push(Buffer.from(chunk));
    bytes += chunk.byteLength;
    if (bytes < PIECE_BYTES) continue;
    yield Buffer.concat(held);
    held = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(held);
}

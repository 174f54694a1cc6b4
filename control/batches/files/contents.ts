/**
 * Contents of files, in pieces: rows of the database, or objects of a bucket whose rows are empty (docs/rules/batches.md#bucket). Each
 * piece is read where it is, so a file stays readable when the place of new pieces changes.
 */
import { randomInt } from "node:crypto";
import { and, asc, eq, gt, sql } from "drizzle-orm";
import type { Database, Transaction } from "../../db/connect.ts";
import { type Bucket, BucketError } from "../../kernel/bucket/bucket.ts";
import { filePieces, files } from "../tables.ts";

/** Where files are. */
export interface FileStore {
  readonly db: Database;
  /** Null: new contents go into the database. */
  readonly bucket: Bucket | null;
}

/** A piece whose content is in the bucket if it belongs there, and whose row is still to be written. */
export interface StagedPiece {
  readonly n: number;
  /** What its row holds: nothing if the content is in the bucket. */
  readonly bytes: Uint8Array;
  readonly length: number;
}

const DATABASE_PIECE_BYTES = 256 * 1024;
const OBJECT_BYTES = 1024 * 1024;
const CALL_WITHIN_MS = 30_000;
/**
 * Objects are numbered with gaps of up to so many: one that arrives after its writer has died replaces none that came later. The
 * largest results that lines can have still fit into the numbers of the column.
 */
const GAP = 4096;

const withinTime = (): AbortSignal => AbortSignal.timeout(CALL_WITHIN_MS);
const objectOf = (id: string, n: number): string => `${id}/${n}`;

/** The file that an object belongs to; null: it is not a piece of a file. */
export function fileOfObject(name: string): string | null {
  return /^([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\/\d+$/.exec(name)?.[1] ?? null;
}

/** The pieces of a body, behind the piece `last` of their file; -1: it is the first. Throws {@link BucketError}. */
export async function* stagedPieces(
  bucket: Bucket | null,
  { id, last }: { readonly id: string; readonly last: number },
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<StagedPiece> {
  let n = last;
  for await (const piece of inPieces(body, bucket === null ? DATABASE_PIECE_BYTES : OBJECT_BYTES)) {
    n += bucket === null ? 1 : randomInt(1, GAP);
    await bucket?.store(objectOf(id, n), piece, "application/octet-stream", withinTime());
    yield { n, bytes: bucket === null ? piece : Buffer.alloc(0), length: piece.length };
  }
}

export async function insertPiece(db: Database | Transaction, id: string, piece: StagedPiece): Promise<void> {
  const { n, bytes, length } = piece;
  await db.insert(filePieces).values({ file_id: id, n, bytes });
  await db
    .update(files)
    .set({ bytes: sql`${files.bytes} + ${length}` })
    .where(eq(files.id, id));
}

/** Pieces of a file in their order. Throws {@link BucketError}. */
export async function* piecesOf({ db, bucket }: FileStore, id: string): AsyncGenerator<Buffer> {
  for (let after = -1; ; ) {
    const [row] = await db
      .select({ n: filePieces.n, bytes: filePieces.bytes })
      .from(filePieces)
      .where(and(eq(filePieces.file_id, id), gt(filePieces.n, after)))
      .orderBy(asc(filePieces.n))
      .limit(1);
    if (row === undefined) return;
    yield row.bytes.length > 0 ? Buffer.from(row.bytes) : await objectIn(bucket, objectOf(id, row.n));
    after = row.n;
  }
}

async function objectIn(bucket: Bucket | null, name: string): Promise<Buffer> {
  if (bucket === null) throw new BucketError("contents of the file are in a bucket, but GATEWAY_FILES_TO is not set");
  const content = await bucket.read(name, withinTime());
  if (content === null) throw new BucketError(`${bucket.shown} has no object ${name}`);
  return Buffer.from(content);
}

async function* inPieces(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  pieceBytes: number,
): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    for (let at = 0; at < chunk.byteLength; at += pieceBytes) {
      const part = chunk.subarray(at, at + pieceBytes);
      held.push(Buffer.from(part));
      bytes += part.byteLength;
      if (bytes < pieceBytes) continue;
      yield Buffer.concat(held);
      held = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(held);
}

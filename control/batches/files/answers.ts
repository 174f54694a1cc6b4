/**
 * Large answers to lines, as hidden files until they are part of the results (docs/rules/batches.md#results). Their pieces
 * are always in the database, so lines end while a bucket is away.
 */
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { eq, sql } from "drizzle-orm";
import type { Database, Transaction } from "../../db/connect.ts";
import { filePieces, files } from "../tables.ts";

const PIECE_BYTES = 128 * 1024;

/**
 * Stores an answer and returns the id of its file; null: its batch does not exist any more. After each piece it leaves the database to
 * others for as long as that one took; not when this process ends, which has little time.
 */
export async function storeAnswer(
  db: Database,
  batchId: string,
  content: Buffer,
  ending: AbortSignal,
): Promise<string | null> {
  const made = await db.execute(sql`
    INSERT INTO files (tenant_id, purpose, filename, bytes, answer_of)
    SELECT tenant_id, 'batch_output', '', ${content.length}, id FROM batches WHERE id = ${batchId} RETURNING id`);
  const [row] = (made as unknown as { readonly rows: readonly { readonly id: string }[] }).rows;
  if (row === undefined) return null;
  try {
    for (let n = 0; n * PIECE_BYTES < content.length; n += 1) {
      const beganMs = performance.now();
      const bytes = content.subarray(n * PIECE_BYTES, (n + 1) * PIECE_BYTES);
      await db.insert(filePieces).values({ file_id: row.id, n, bytes });
      if (!ending.aborted) await sleep(performance.now() - beganMs);
    }
    return row.id;
  } catch (error) {
    await db.delete(files).where(eq(files.id, row.id));
    throw error;
  }
}

/** An answer whose pieces become those of another file. */
export interface MovedAnswer {
  readonly from: string;
  /** The number of its first piece there. */
  readonly n: number;
  readonly length: number;
}

/** How many pieces and bytes an answer has. */
export async function sizeOfAnswer(
  db: Database,
  id: string,
): Promise<{ readonly pieces: number; readonly length: number }> {
  const [row] = await db
    .select({ length: files.bytes, pieces: sql<number>`(SELECT count(*)::int FROM file_pieces WHERE file_id = ${id})` })
    .from(files)
    .where(eq(files.id, id));
  return row ?? { pieces: 0, length: 0 };
}

/** Gives the pieces to a file: they are renumbered, and their bytes are neither read nor written. */
export async function moveAnswer(tx: Transaction, id: string, { from, n, length }: MovedAnswer): Promise<void> {
  await tx
    .update(filePieces)
    .set({ file_id: id, n: sql`${filePieces.n} + ${n}` })
    .where(eq(filePieces.file_id, from));
  await tx
    .update(files)
    .set({ bytes: sql`${files.bytes} + ${length}` })
    .where(eq(files.id, id));
}

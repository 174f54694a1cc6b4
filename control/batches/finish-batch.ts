/** Ends batches: their results become files, and their lines go (docs/rules/batches.md#results). */
import { and, asc, eq, gt, inArray, sql } from "drizzle-orm";
import type { Database, Transaction } from "../db/connect.ts";
import { publicId } from "./batch-record.ts";
import { storeResults } from "./files/file-store.ts";
import { type BatchRow, batches, batchLines } from "./tables.ts";

const ROWS_AT_ONCE = 100;

type LineRow = typeof batchLines.$inferSelect;

/** What is said of lines that never ran. */
const NOT_RUN = {
  expired: {
    code: "batch_expired",
    message: "This request could not be executed before the completion window expired.",
  },
  cancelled: { code: "batch_cancelled", message: "This request was not executed because the batch was cancelled." },
} as const;

/**
 * Ends a batch none of whose lines is under way, if all have run, it was cancelled, or its time is over. Returns what it came to;
 * null: it goes on.
 */
export async function finishBatch(
  db: Database,
  batch: BatchRow,
  now: Date,
): Promise<"completed" | "expired" | "cancelled" | null> {
  const open = await openLines(db, batch.id);
  const isOver = batch.expires_at <= now;
  const cancelled = batch.cancelling_at !== null;
  if (open.sent > 0 || (open.waiting > 0 && !cancelled && !isOver)) return null;
  const status = cancelled ? "cancelled" : open.waiting > 0 ? "expired" : "completed";
  await db
    .update(batches)
    .set({ status: "finalizing", finalizing_at: batch.finalizing_at ?? now, updated_at: now })
    .where(and(eq(batches.id, batch.id), inArray(batches.status, ["in_progress", "cancelling", "finalizing"])));
  await db.transaction(async (tx) => {
    const name = publicId("batch", batch.id);
    const file = { tenantId: batch.tenant_id, purpose: "batch_output" } as const;
    const output = results(tx, batch, ["completed"], null);
    const errors = results(tx, batch, ["failed", "waiting"], status === "cancelled" ? "cancelled" : "expired");
    const output_file_id = await storeResults(tx, { ...file, filename: `${name}_output.jsonl` }, output);
    const error_file_id = await storeResults(tx, { ...file, filename: `${name}_error.jsonl` }, errors);
    await tx.delete(batchLines).where(eq(batchLines.batch_id, batch.id));
    await tx
      .update(batches)
      .set({
        status,
        output_file_id,
        error_file_id,
        lines_failed: sql`${batches.lines_failed} + ${open.waiting}`,
        ended_at: now,
        updated_at: now,
      })
      .where(eq(batches.id, batch.id));
  });
  return status;
}

async function openLines(db: Database, id: string): Promise<{ readonly sent: number; readonly waiting: number }> {
  const [row] = await db
    .select({
      sent: sql<number>`(count(*) FILTER (WHERE state = 'sent'))::int`,
      waiting: sql<number>`(count(*) FILTER (WHERE state = 'waiting'))::int`,
    })
    .from(batchLines)
    .where(and(eq(batchLines.batch_id, id), sql`state IN ('waiting', 'sent')`));
  return row ?? { sent: 0, waiting: 0 };
}

async function* results(
  tx: Transaction,
  { id }: BatchRow,
  states: LineRow["state"][],
  notRun: keyof typeof NOT_RUN | null,
): AsyncGenerator<Uint8Array> {
  for (let after = 0; ; ) {
    const rows = await tx
      .select()
      .from(batchLines)
      .where(and(eq(batchLines.batch_id, id), inArray(batchLines.state, states), gt(batchLines.n, after)))
      .orderBy(asc(batchLines.n))
      .limit(ROWS_AT_ONCE);
    for (const row of rows) yield Buffer.from(`${resultLine(row, notRun)}\n`);
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.n;
  }
}

function resultLine(row: LineRow, notRun: keyof typeof NOT_RUN | null): string {
  const { request_id: requestId } = row;
  const name = `batch_req_${(requestId ?? `${row.batch_id}${row.n}`).replaceAll("-", "")}`;
  const id = `"id":"${name}","custom_id":${JSON.stringify(row.custom_id)}`;
  if (row.status === null || row.answer === null || row.state === "waiting")
    return `{${id},"response":null,"error":${JSON.stringify(NOT_RUN[notRun ?? "expired"])}}`;
  const response = `{"status_code":${row.status},"request_id":"${requestId}","body":${inOneLine(row.answer)}}`;
  return `{${id},"response":${response},"error":null}`;
}

/** The answer as JSON without line breaks; in JSON they are only between values. */
function inOneLine(answer: string): string {
  try {
    JSON.parse(answer);
    return answer.replace(/[\r\n]+/g, " ");
  } catch {
    return JSON.stringify(answer);
  }
}

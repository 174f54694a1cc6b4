/** Ends batches: their results become files, and their lines go (docs/rules/batches.md#results). */
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { and, asc, eq, inArray, sql } from "drizzle-orm";
import type { BatchFault } from "../../shared/schema/batch.ts";
import type { Database } from "../db/connect.ts";
import { inOneLine } from "./answer-text.ts";
import { publicId } from "./batch-record.ts";
import type { FileStore } from "./files/contents.ts";
import { addResults, type ResultPart, stageResults } from "./files/file-store.ts";
import { errorIn, lineFault } from "./line-sender.ts";
import { deleteSomeLines, linesWithin, nextLines } from "./line-store.ts";
import { type BatchRow, batches, batchLines, files } from "./tables.ts";

const ROWS_AT_ONCE = 100;
/** Of the lines in a part, one of any size: the embedded database runs nothing else while it takes a part. */
const PART_MAX_BYTES = 1024 * 1024;
/** Then the database takes only the names of objects, and fewer of these are small. */
const BUCKET_PART_MAX_BYTES = 8 * PART_MAX_BYTES;

/** What is read of a line. */
const RESULT = {
  batch_id: batchLines.batch_id,
  n: batchLines.n,
  custom_id: batchLines.custom_id,
  state: batchLines.state,
  request_id: batchLines.request_id,
  status: batchLines.status,
  answer: batchLines.answer,
  answer_file_id: batchLines.answer_file_id,
};
type LineRow = Pick<typeof batchLines.$inferSelect, keyof typeof RESULT>;

/** What is said of lines that never ran. */
const NOT_RUN = {
  expired: {
    code: "batch_expired",
    message: "This request could not be executed before the completion window expired.",
  },
  cancelled: { code: "batch_cancelled", message: "This request was not executed because the batch was cancelled." },
} as const;

/** Where the results are. */
const RESULTS = [
  { field: "output_file_id", suffix: "output", states: ["completed"] },
  { field: "error_file_id", suffix: "error", states: ["failed", "waiting"] },
] as const;
type Results = (typeof RESULTS)[number];
type Ended = "completed" | "expired" | "cancelled";

/** The batch, if its results can be written: no line is under way, and all have run, it was cancelled, or its time is over. */
export async function overBatch(db: Database, batch: BatchRow, now: Date): Promise<BatchRow | null> {
  const open = await openLines(db, batch.id);
  const isDue = batch.status === "finalizing" || batch.expires_at <= now || batch.cancelling_at !== null;
  if (open.sent > 0 || (open.waiting > 0 && !isDue)) return null;
  const [row] = await db
    .update(batches)
    .set({ status: "finalizing", finalizing_at: batch.finalizing_at ?? now, updated_at: now })
    .where(and(eq(batches.id, batch.id), inArray(batches.status, ["in_progress", "cancelling", "finalizing"])))
    .returning();
  return row ?? null;
}

/**
 * Ends a batch that is over. Results are written in parts, at least one. Each part deletes its lines, so a restart writes only the
 * rest. Returns the status of the ended batch; null: it is not over, or there is more to write and `mayGoOn` said no.
 */
export async function finishBatch(
  store: FileStore,
  batch: BatchRow,
  now: Date,
  mayGoOn: () => boolean = () => true,
): Promise<Ended | null> {
  const { db } = store;
  const row = await overBatch(db, batch, now);
  if (row === null) return null;
  const { lines_total, lines_completed, lines_failed, cancelling_at } = row;
  const someNeverRan = lines_total > lines_completed + lines_failed;
  const status: Ended = cancelling_at !== null ? "cancelled" : someNeverRan ? "expired" : "completed";
  // it was cancelled before its file was read to the end
  if (lines_total === 0) while (await deleteSomeLines(db, row.id)) if (!mayGoOn()) return null;
  const notRun = status === "cancelled" ? "cancelled" : "expired";
  for (const results of RESULTS)
    for (let after: number | null = 0; ; ) {
      after = await writePart(store, row, { ...results, after }, notRun);
      if (after === null) break;
      if (!mayGoOn()) return null;
    }
  await db.transaction(async (tx) => {
    const ended = { status, lines_failed: lines_total - lines_completed, ended_at: now, updated_at: now };
    const [last] = await tx.update(batches).set(ended).where(eq(batches.id, row.id)).returning();
    const made = [last?.output_file_id, last?.error_file_id].filter((id) => typeof id === "string");
    await tx.update(files).set({ complete: true }).where(inArray(files.id, made));
  });
  return status;
}

/** Moves the next lines to their file, and gives the last; null: none is left. No transaction waits for a bucket. */
async function writePart(
  store: FileStore,
  batch: BatchRow,
  { field, suffix, states, after }: Results & { readonly after: number },
  notRun: keyof typeof NOT_RUN,
): Promise<number | null> {
  const { db, bucket } = store;
  const mine = eq(batches.id, batch.id);
  const [known] = await db.select({ file: batches[field] }).from(batches).where(mine);
  const most = { lines: ROWS_AT_ONCE, bytes: bucket === null ? PART_MAX_BYTES : BUCKET_PART_MAX_BYTES };
  const next = await nextLines(db, { batchId: batch.id, states, after }, most);
  if (known === undefined || next === null) return null;
  const part = and(linesWithin(batch.id, next), inArray(batchLines.state, [...states]));
  const rows = await db.select(RESULT).from(batchLines).where(part).orderBy(asc(batchLines.n));
  const id = known.file ?? randomUUID();
  const filename = `${publicId("batch", batch.id)}_${suffix}.jsonl`;
  const answers = rows.flatMap(({ answer_file_id: file }) => file ?? []);
  const pieces = await stageResults(store, id, linesOfResults(rows, notRun));
  return await db.transaction(async (tx) => {
    const [locked] = await tx.select({ file: batches[field] }).from(batches).where(mine).for("update");
    if (locked === undefined) return null;
    // another process has written some of them
    if (locked.file !== known.file || (await tx.$count(batchLines, part)) !== rows.length) return after;
    await addResults(tx, { id, tenantId: batch.tenant_id, purpose: "batch_output", filename }, pieces);
    const isFirst = field === "error_file_id" && known.file === null;
    const named = { [field]: id, ...(isFirst ? { errors: [firstFault(rows, notRun)] } : {}) };
    await tx.update(batches).set(named).where(mine);
    await tx.delete(batchLines).where(part);
    await tx.delete(files).where(inArray(files.id, answers));
    return next.last;
  });
}

/** Why the first line failed of those that ran; if none did, that the first one never ran. */
function firstFault(rows: readonly LineRow[], notRun: keyof typeof NOT_RUN): BatchFault {
  const failed = rows.find(({ state }) => state === "failed");
  if (failed === undefined) return lineFault(rows[0]?.n ?? null, null, NOT_RUN[notRun]);
  return lineFault(failed.n, failed.status, errorIn(failed.answer ?? ""));
}

async function* linesOfResults(rows: readonly LineRow[], notRun: keyof typeof NOT_RUN): AsyncGenerator<ResultPart> {
  for (const row of rows) {
    // an answer of many small values takes a while to parse
    await nextTurn();
    for (const part of resultLine(row, notRun)) yield typeof part === "string" ? Buffer.from(part) : part;
  }
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

function* resultLine(row: LineRow, notRun: keyof typeof NOT_RUN): Generator<string | ResultPart> {
  const { request_id: requestId, status, answer, answer_file_id: file } = row;
  const name = `batch_req_${(requestId ?? `${row.batch_id}${row.n}`).replaceAll("-", "")}`;
  yield `{"id":"${name}","custom_id":${JSON.stringify(row.custom_id)},"response":`;
  if (status === null || row.state === "waiting" || (answer === null && file === null))
    return yield `null,"error":${JSON.stringify(NOT_RUN[notRun])}}\n`;
  yield `{"status_code":${status},"request_id":"${requestId}","body":`;
  if (file !== null) yield { answer: file };
  else if (answer !== null) yield inOneLine(answer);
  yield `},"error":null}\n`;
}

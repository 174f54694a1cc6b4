/**
 * Lines of batches in the database. A line is claimed before it is sent, and what it came to is stored only for its newest
 * request: two processes never both end a line (docs/rules/batches.md#exactly-once).
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { and, asc, between, eq, gt, inArray, lte, max, min, type SQL, sql } from "drizzle-orm";
import type { Database, Transaction } from "../db/connect.ts";
import { errorIn, lineFault, type SentLine } from "./line-sender.ts";
import { batchLines, files } from "./tables.ts";

export interface ClaimedLine extends SentLine {
  readonly model: string;
  readonly body: string;
}

/** What is stored of a line that was sent. `waiting`: it is sent again. */
export interface LineEnd extends SentLine {
  readonly state: "waiting" | "completed" | "failed";
  readonly status: number | null;
  readonly answer: string | null;
  /** Where the answer is that is not in `answer`. */
  readonly answerFileId?: string | null;
}

const ENDS_AT_ONCE = 100;
/** Of the answers that one statement stores, one of any size. */
const ENDS_AT_ONCE_CHARS = 512 * 1024;

interface RawLine {
  readonly batch_id: string;
  readonly n: number;
  readonly tries: number;
  readonly request_id: string;
  readonly cell: string;
  readonly model: string;
  readonly body: string;
}

const lineOf = ({ batch_id: batchId, n, tries, request_id: requestId, cell, model, body }: RawLine): ClaimedLine => ({
  batchId,
  n,
  tries,
  requestId,
  cell,
  model,
  body,
});

async function rowsOf<T>(work: unknown): Promise<readonly T[]> {
  return ((await work) as { readonly rows: readonly T[] }).rows;
}

/** So many models of a batch are looked at until lines of theirs have ended. */
const MODELS_MAX = 256;

/** Models of a batch with lines that wait, of many only the first. */
export async function waitingModels(db: Database, batchId: string): Promise<readonly string[]> {
  const found = await rowsOf<{ model: string }>(
    db.execute(sql`SELECT DISTINCT model FROM batch_lines WHERE batch_id = ${batchId} AND state = 'waiting'
      ORDER BY model LIMIT ${MODELS_MAX}`),
  );
  return found.map(({ model }) => model);
}

/** Takes the next lines of a batch for a model, one of any size and others within `most`; they are to be sent to this cell. */
export async function claimLines(
  db: Database,
  which: { readonly batchId: string; readonly model: string; readonly cell: string },
  most: { readonly lines: number; readonly bytes: number },
): Promise<readonly ClaimedLine[]> {
  const { batchId, model, cell } = which;
  // As a subquery of the condition it might run once for each row, and take more lines than it may.
  const claimed = await rowsOf<RawLine>(
    db.execute(sql`
      WITH next AS MATERIALIZED (
        SELECT n, octet_length(body) AS bytes FROM batch_lines
        WHERE batch_id = ${batchId} AND model = ${model} AND state = 'waiting'
        ORDER BY n LIMIT ${most.lines} FOR UPDATE SKIP LOCKED
      ), fitting AS (
        SELECT n, sum(bytes) OVER (ORDER BY n) <= ${most.bytes} OR row_number() OVER (ORDER BY n) = 1 AS fits FROM next)
      UPDATE batch_lines l SET state = 'sent', tries = l.tries + 1, request_id = gen_random_uuid(), cell = ${cell}
      FROM fitting WHERE fitting.fits AND l.batch_id = ${batchId} AND l.n = fitting.n
      RETURNING l.batch_id, l.n, l.tries, l.request_id, l.cell, l.model, l.body`),
  );
  return claimed.map(lineOf).toSorted((one, other) => one.n - other.n);
}

/** Of a batch, by one statement: to look for the next of all lines takes the embedded database long, which knows no statistics. */
const LOOKED_AT_ONCE = 1000;

interface LinesOfBatch {
  readonly batchId: string;
  /** Undefined: all. */
  readonly states?: readonly (typeof batchLines.$inferSelect)["state"][];
  /** The line before the first of them. */
  readonly after?: number;
}

interface LineRange {
  readonly first: number;
  readonly last: number;
}

/** From where to where the next lines with these states are, one of any size and others within `most`; null: there are none. */
export async function nextLines(
  db: Database | Transaction,
  { batchId, states, after = 0 }: LinesOfBatch,
  most: { readonly lines: number; readonly bytes: number },
): Promise<LineRange | null> {
  const ofBatch = eq(batchLines.batch_id, batchId);
  const [ends] = await db
    .select({ first: min(batchLines.n), last: max(batchLines.n) })
    .from(batchLines)
    .where(ofBatch);
  const last = ends?.last ?? 0;
  for (let from = Math.max(after, (ends?.first ?? 1) - 1); from < last; from += LOOKED_AT_ONCE) {
    const sizes = await db
      .select({
        n: batchLines.n,
        bytes: sql<number>`coalesce(${files.bytes}::int, octet_length(${batchLines.answer}), 0) + octet_length(${batchLines.body})`,
      })
      .from(batchLines)
      .leftJoin(files, eq(files.id, batchLines.answer_file_id))
      .where(
        and(
          ofBatch,
          states && inArray(batchLines.state, [...states]),
          gt(batchLines.n, from),
          lte(batchLines.n, from + LOOKED_AT_ONCE),
        ),
      )
      .orderBy(asc(batchLines.n))
      .limit(most.lines);
    let bytes = 0;
    const fitting = sizes.filter((line, at) => {
      bytes += line.bytes;
      return at === 0 || bytes <= most.bytes;
    });
    const [first, end] = [fitting[0], fitting.at(-1)];
    if (first !== undefined && end !== undefined) return { first: first.n, last: end.n };
  }
  return null;
}

/** A condition that the index of lines answers; with a list of numbers, the database would look at all lines. */
export const linesWithin = (batchId: string, { first, last }: LineRange): SQL | undefined =>
  and(eq(batchLines.batch_id, batchId), between(batchLines.n, first, last));

/** By one statement. */
const DELETED_AT_ONCE = { lines: 200, bytes: 1024 * 1024 };

/** Deletes the next lines of a batch, as many as hold nobody up. Returns whether there were any. */
export async function deleteSomeLines(db: Database | Transaction, batchId: string): Promise<boolean> {
  const next = await nextLines(db, { batchId }, DELETED_AT_ONCE);
  if (next !== null) await db.delete(batchLines).where(linesWithin(batchId, next));
  return next !== null;
}

/** Lines that some process has sent and not ended. */
export async function sentLines(db: Database): Promise<readonly ClaimedLine[]> {
  const left = await rowsOf<RawLine>(
    db.execute(sql`
      SELECT l.batch_id, l.n, l.tries, l.request_id, l.cell, l.model, '' AS body FROM batch_lines l
      JOIN batches b ON b.id = l.batch_id AND b.ended_at IS NULL
      WHERE l.state = 'sent'`),
  );
  return left.map(lineOf);
}

/** Those that are stored next, the oldest first. */
export function nextEnds(waiting: Iterable<LineEnd>): readonly LineEnd[] {
  const next: LineEnd[] = [];
  let chars = 0;
  for (const end of waiting) {
    chars += end.answer?.length ?? 0;
    if (next.length === ENDS_AT_ONCE || (next.length > 0 && chars > ENDS_AT_ONCE_CHARS)) break;
    next.push(end);
  }
  return next;
}

/** Stores what lines came to, with the counts of their batches and the first error of each. Returns how many had a request that was still the newest. */
export async function endLines(db: Database, ends: readonly LineEnd[]): Promise<number> {
  const rows: object[] = [];
  for (const { batchId, n, tries, requestId, state, status, answer, answerFileId } of ends) {
    // an answer of many small values takes some ms to parse
    if (state === "failed") await nextTurn();
    rows.push({
      batch_id: batchId,
      n,
      tries,
      request_id: requestId,
      state,
      status,
      answer,
      answer_file_id: answerFileId,
      fault: state === "failed" ? lineFault(n, status, errorIn(answer ?? "")) : null,
    });
  }
  const given = JSON.stringify(rows);
  const ended = await rowsOf<{ n: number }>(
    db.execute(sql`
      WITH given AS (
        SELECT * FROM jsonb_to_recordset(${given}::jsonb) AS g(batch_id uuid, n integer, tries integer, request_id uuid,
          state text, status integer, answer text, answer_file_id uuid, fault jsonb)
      ), ended AS (
        UPDATE batch_lines l SET state = g.state, tries = g.tries, status = g.status, answer = g.answer,
          answer_file_id = g.answer_file_id, body = CASE WHEN g.state = 'waiting' THEN l.body ELSE '' END
        FROM given g
        WHERE l.batch_id = g.batch_id AND l.n = g.n AND l.request_id = g.request_id AND l.state = 'sent'
        RETURNING l.batch_id, l.n, l.state, g.fault
      ), counted AS (
        UPDATE batches b SET lines_completed = lines_completed + c.completed, lines_failed = lines_failed + c.failed,
          errors = CASE WHEN b.errors = '[]'::jsonb AND c.failed > 0 THEN jsonb_build_array(c.fault) ELSE b.errors END,
          updated_at = now()
        FROM (SELECT batch_id, count(*) FILTER (WHERE state = 'completed')::int AS completed,
          count(*) FILTER (WHERE state = 'failed')::int AS failed,
          (array_agg(fault ORDER BY n) FILTER (WHERE state = 'failed'))[1] AS fault FROM ended GROUP BY batch_id) c
        WHERE b.id = c.batch_id AND c.completed + c.failed > 0
      )
      SELECT n FROM ended`),
  );
  return ended.length;
}

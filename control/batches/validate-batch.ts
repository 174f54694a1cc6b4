/** Reads the file of a batch once: its lines are stored to be run, or the batch fails with what is wrong (docs/rules/batches.md#validation). */
import { setImmediate as nextTurn } from "node:timers/promises";
import { and, eq } from "drizzle-orm";
import type { BatchFault } from "../../shared/schema/batch.ts";
import { batchLineSchema } from "../../shared/schema/batch.ts";
import type { Database, Transaction } from "../db/connect.ts";
import { BucketError } from "../kernel/bucket/bucket.ts";
import { errorDetailsOf, IN_WORDS } from "../kernel/parse.ts";
import { failureLevel } from "../kernel/store-watch.ts";
import { type FileStore, piecesOf } from "./files/contents.ts";
import { linesOf } from "./files/file-store.ts";
import { bodyIn, LargeLines } from "./large-lines.ts";
import { deleteSomeLines } from "./line-store.ts";
import { type BatchRow, batches, batchLines, files } from "./tables.ts";

const FAULTS_MAX = 50;
const ROWS_AT_ONCE = 200;
const ROWS_MAX_BYTES = 1024 * 1024;
/** A longer line is parsed in a thread of its own; after as many characters of shorter ones, others have a turn. */
const PARSED_MAX_CHARS = 64 * 1024;
/** Tries to read a file: what ends the process, or fails here, would do so again. */
const TRIES_MAX = 3;

interface ReadLine {
  readonly batch_id: string;
  readonly n: number;
  readonly custom_id: string;
  readonly model: string;
  readonly body: string;
}

interface ValidateOptions {
  readonly now: () => Date;
  /** False: this process does not run batches any more. */
  readonly goesOn: () => boolean;
}

/**
 * Stores the lines and starts the batch, or fails it. There is no transaction around it all: no line is
 * claimed before the batch has started, and a restart deletes the lines that were stored.
 */
export async function validateBatch(
  store: FileStore,
  batch: BatchRow,
  { now, goesOn }: ValidateOptions,
): Promise<void> {
  const { db } = store;
  await forgetLines(db, batch);
  const tried = await begin(db, batch, now());
  if (tried === null) return;
  /** What has stopped this try is not the file. */
  const withdraw = async (): Promise<void> =>
    void (await db
      .update(batches)
      .set({ errors: tried })
      .where(and(eq(batches.id, batch.id), eq(batches.status, "validating"))));
  const late = fault("batch_expired", null, "the batch expired before its file was read", null);
  const large = new LargeLines();
  const isLate = batch.expires_at <= now();
  const read = isLate
    ? { lines: 0, faults: [late] }
    : await storeLines(store, batch, large, goesOn)
        .catch(async (error: unknown) => {
          if (isOutage(error)) await withdraw().catch(() => undefined);
          throw error;
        })
        .finally(() => large.end());
  if (read === null) return await withdraw();
  const { lines, faults } = read;
  if (faults.length > 0) await forgetLines(db, batch);
  await db.transaction(async (tx) => {
    if (!(await isValidating(tx, batch, "update"))) return;
    const own = and(eq(files.id, batch.input_file_id), eq(files.tenant_id, batch.tenant_id));
    // one that is being deleted has lost pieces
    const found = and(own, eq(files.complete, true));
    const [file] = await tx.select({ id: files.id }).from(files).where(found);
    const gone = fault("input_file_not_found", null, "the input file does not exist any more", "input_file_id");
    const empty = fault("empty_file", null, "the input file has no lines", "input_file_id");
    const whole = file === undefined ? [gone] : lines === 0 ? [empty] : [];
    const errors = faults.length > 0 ? faults : whole;
    const at = now();
    const mine = eq(batches.id, batch.id);
    if (errors.length === 0) {
      const stored = await tx.$count(batchLines, eq(batchLines.batch_id, batch.id));
      // somebody else has begun again
      if (stored !== lines) return;
      const started = {
        status: "in_progress",
        lines_total: lines,
        errors: [],
        in_progress_at: at,
        updated_at: at,
      } as const;
      await tx.update(batches).set(started).where(mine);
      return;
    }
    while (await deleteSomeLines(tx, batch.id));
    await tx.update(batches).set({ status: "failed", errors, ended_at: at, updated_at: at }).where(mine);
  });
}

/**
 * Notes in the errors of the batch that its file is begun to be read; they are seen when it has failed. Returns those of before; null:
 * the batch is not to be read, or has failed now, because no try came to an end.
 */
async function begin(db: Database, { id }: BatchRow, at: Date): Promise<readonly BatchFault[] | null> {
  return await db.transaction(async (tx) => {
    const mine = and(eq(batches.id, id), eq(batches.status, "validating"));
    const [row] = await tx.select({ errors: batches.errors }).from(batches).where(mine).for("update");
    if (row === undefined) return null;
    while (await deleteSomeLines(tx, id));
    if (row.errors.length < TRIES_MAX) {
      await tx
        .update(batches)
        .set({ errors: [...row.errors, BEGUN] })
        .where(mine);
      return row.errors;
    }
    await tx
      .update(batches)
      .set({ status: "failed", errors: [UNREADABLE], ended_at: at, updated_at: at })
      .where(mine);
    return null;
  });
}

/** Deletes its lines in steps that leave turns to others. */
async function forgetLines(db: Database, batch: BatchRow): Promise<void> {
  for (let left = true; left; )
    left = await db.transaction(
      async (tx) => (await isValidating(tx, batch, "share")) && (await deleteSomeLines(tx, batch.id)),
    );
}

/** Whether a store is away, which says nothing about the file. */
const isOutage = (error: unknown): boolean => error instanceof BucketError || failureLevel(error) === "debug";

/** Whether it is, until the transaction ends. */
async function isValidating(tx: Transaction, { id }: BatchRow, lock: "update" | "share"): Promise<boolean> {
  const validating = and(eq(batches.id, id), eq(batches.status, "validating"));
  return (await tx.select({ id: batches.id }).from(batches).where(validating).for(lock)).length > 0;
}

/** Null: the batch is not to be validated any more. */
async function storeLines(
  files: FileStore,
  batch: BatchRow,
  large: LargeLines,
  goesOn: () => boolean,
): Promise<{ readonly lines: number; readonly faults: readonly BatchFault[] } | null> {
  const faults: BatchFault[] = [];
  const ids = new Set<string>();
  let held: ReadLine[] = [];
  let heldBytes = 0;
  let lines = 0;
  /** Since the last turn. */
  let chars = 0;
  const store = async (): Promise<boolean> => {
    const rows = faults.length === 0 ? held : [];
    held = [];
    heldBytes = 0;
    if (rows.length === 0) return goesOn();
    return await files.db.transaction(async (tx) => {
      if (!goesOn() || !(await isValidating(tx, batch, "share"))) return false;
      await tx.insert(batchLines).values(rows).onConflictDoNothing();
      return true;
    });
  };
  for await (const { n, text } of linesOf(piecesOf(files, batch.input_file_id))) {
    const read = await readLine(batch, n, text, large);
    lines += 1;
    chars += text?.length ?? 0;
    if (chars > PARSED_MAX_CHARS) {
      chars = 0;
      await nextTurn();
    }
    if ("code" in read) faults.push(read);
    else if (ids.has(read.custom_id)) faults.push(fault("duplicate_custom_id", n, "another line has it", "custom_id"));
    else {
      ids.add(read.custom_id);
      held.push(read);
      heldBytes += read.body.length;
    }
    if (faults.length === FAULTS_MAX) break;
    if ((held.length === ROWS_AT_ONCE || heldBytes > ROWS_MAX_BYTES) && !(await store())) return null;
  }
  return (await store()) ? { lines, faults } : null;
}

async function readLine(
  batch: BatchRow,
  n: number,
  text: string | null,
  large: LargeLines,
): Promise<ReadLine | BatchFault> {
  if (text === null) return fault("invalid_line", n, "must be UTF-8 and at most 4 MiB", null);
  const value = text.length > PARSED_MAX_CHARS ? await large.outline(text) : jsonOf(text);
  if (value === undefined) return fault("invalid_json_line", n, "is not valid JSON", null);
  const parsed = batchLineSchema.safeParse(value, IN_WORDS);
  if (!parsed.success) {
    const [first] = errorDetailsOf(parsed.error);
    return fault("invalid_line", n, first?.message ?? "is not valid", first?.path ?? null);
  }
  const { custom_id, url, body } = parsed.data;
  if (url !== batch.endpoint) return fault("mismatched_url", n, `must be ${batch.endpoint}, as in the batch`, "url");
  const ran = await bodyIn(text);
  if (ran === null) return fault("invalid_line", n, "must be there once", "body");
  return { batch_id: batch.id, n, custom_id, model: body.model, body: ran };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const fault = (code: string, line: number | null, message: string, param: string | null): BatchFault => ({
  code,
  line,
  message,
  param,
});

const BEGUN = fault("reading_begun", null, "the file was begun to be read", null);
const UNREADABLE = fault(
  "file_not_read",
  null,
  `the file could not be read to its end in ${TRIES_MAX} tries: split it into smaller files`,
  "input_file_id",
);

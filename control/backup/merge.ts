/**
 * Merges the rows of one entity into its table, in batches, within the caller's transaction: rows are inserted, or updated
 * by primary key, and none is deleted. A unique value that another row has throws, and so does a reference to a missing
 * row; the transaction then undoes everything.
 */
import { getTableColumns, inArray, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { GatewayError } from "../../shared/errors.ts";
import type { BackupEntity } from "../../shared/schema/backup.ts";
import type { Transaction } from "../db/connect.ts";
import { isInstant } from "../db/schema/columns.ts";
import { refuseIfAny } from "../kernel/parse.ts";
import { type BackupRow, columnOf, ENTITIES, type EntityKind } from "./backup-entities.ts";

export const BATCH = 500;

/** The name of the records that a local stack creates at its first start. */
const DEMO = "demo";
const ON_EMPTY = "GATEWAY_DEMO=0 starts an empty database without a demo";

interface MergeResult {
  readonly inserted: number;
  /** Rows whose primary key existed already, whether or not a value differed. */
  readonly updated: number;
  /** The previous versions of rows whose names change: the copies under their old names have to be removed. */
  readonly renamed: readonly BackupRow[];
}

/** Merges rows under this revision. Throws 400 for a reference to a missing row, 409 for a value that another row has. */
export async function mergeRows(
  tx: Transaction,
  entity: BackupEntity,
  rows: readonly BackupRow[],
  rev: number,
  now: Date,
): Promise<MergeResult> {
  const kind = ENTITIES[entity];
  await refuseMissingReferences(tx, entity, kind, rows);
  const { known, renamed } = await parkRenamed(tx, kind, rows);
  await refuseTakenNames(tx, entity, kind, rows);
  for (const batch of inBatches(rows)) await upsert(tx, kind, batch, rev, now);
  return { inserted: rows.length - known, updated: known, renamed };
}

/** Slices of at most `BATCH` rows, in order. */
export function* inBatches<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < rows.length; at += BATCH) yield rows.slice(at, at + BATCH);
}

async function refuseMissingReferences(
  tx: Transaction,
  entity: BackupEntity,
  { refers }: EntityKind,
  rows: readonly BackupRow[],
): Promise<void> {
  if (refers === undefined) return;
  const { column, to, what } = refers;
  const wanted = [...new Set(rows.map((row) => String(row[column])))];
  const present = new Set<string>();
  for (const batch of inBatches(wanted)) {
    const found = await tx
      .select({ value: to })
      .from(to.table as PgTable)
      .where(inArray(to, [...batch]));
    for (const row of found) present.add(String(row.value));
  }
  const message = `names a ${what} that is in neither the backup nor this gateway`;
  refuseIfAny(
    rows.flatMap((row, at) =>
      present.has(String(row[column])) ? [] : [{ path: `data.${entity}.${at}.${column}`, message }],
    ),
  );
}

/** Gives rows whose name changes a temporary name first, because two rows may exchange their names. */
async function parkRenamed(
  tx: Transaction,
  { table, id, unique, outdates }: EntityKind,
  rows: readonly BackupRow[],
): Promise<{ known: number; renamed: readonly BackupRow[] }> {
  const renamed: BackupRow[] = [];
  const names = [...new Set([...unique, ...outdates.columns])].filter((column) => column !== id);
  let known = 0;
  for (const batch of inBatches(rows)) {
    const before = await currentRows(
      tx,
      table,
      [id, ...names],
      inArray(
        columnOf(table, id),
        batch.map((row) => row[id]),
      ),
    );
    known += before.length;
    const wanted = new Map(batch.map((row) => [row[id], row]));
    const differs = (row: BackupRow, column: string): boolean => row[column] !== wanted.get(row[id])?.[column];
    renamed.push(...before.filter((row) => names.some((column) => differs(row, column))));
    const moving = before.filter((row) => unique.some((column) => differs(row, column)));
    const last = unique.at(-1);
    if (last === undefined || moving.length === 0) continue;
    await tx
      .update(table)
      .set({ [last]: sql`${columnOf(table, id)}::text` })
      .where(
        inArray(
          columnOf(table, id),
          moving.map((row) => row[id]),
        ),
      );
  }
  return { known, renamed };
}

async function refuseTakenNames(
  tx: Transaction,
  entity: BackupEntity,
  { table, id, unique, label, name }: EntityKind,
  rows: readonly BackupRow[],
): Promise<void> {
  const [first] = unique;
  if (first === undefined) return;
  const uniqueOf = (row: BackupRow): string => JSON.stringify(unique.map((column) => row[column]));
  for (const [batchAt, batch] of [...inBatches(rows)].entries()) {
    const holders = await currentRows(
      tx,
      table,
      [id, ...unique],
      inArray(
        columnOf(table, first),
        batch.map((row) => row[first]),
      ),
    );
    const holderOf = new Map(holders.map((row) => [uniqueOf(row), String(row[id])]));
    for (const [at, row] of batch.entries()) {
      const holder = holderOf.get(uniqueOf(row));
      if (holder === undefined || holder === String(row[id])) continue;
      const called = String(row[name]);
      const path = `data.${entity}.${batchAt * BATCH + at}.${unique.at(-1) ?? id}`;
      const other = `belongs here to the ${label} with id ${holder}: rename or delete that one, or change the file`;
      const message = called === DEMO ? `${other}; ${ON_EMPTY}` : other;
      throw new GatewayError("already_exists", { value: `${label} '${called}'`, details: [{ path, message }] });
    }
  }
}

async function upsert(
  tx: Transaction,
  { table, id, onUpdate }: EntityKind,
  rows: readonly BackupRow[],
  rev: number,
  now: Date,
): Promise<void> {
  const columns = getTableColumns(table);
  const values = rows.map((row) => ({
    ...toColumns(columns, row),
    rev,
    ...("updated_at" in row ? {} : { updated_at: now }),
  }));
  const given = new Set(values.flatMap((row) => Object.keys(row)));
  const excluded = [...given]
    .filter((column) => column !== id)
    .map((column) => [column, sql.raw(`excluded."${column}"`)] as const);
  await tx
    .insert(table)
    .values(values)
    .onConflictDoUpdate({ target: columnOf(table, id), set: { ...Object.fromEntries(excluded), ...onUpdate } });
}

async function currentRows(
  tx: Transaction,
  table: PgTable,
  columns: readonly string[],
  where: SQL,
): Promise<readonly BackupRow[]> {
  return await tx
    .select(Object.fromEntries(columns.map((column) => [column, columnOf(table, column)])))
    .from(table)
    .where(where);
}

/** Turns times from text into dates. A field that is absent gets the column's default. */
function toColumns(columns: Readonly<Record<string, PgColumn>>, row: BackupRow): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row)
      .filter(([name, value]) => name in columns && value !== undefined)
      .map(([name, value]) => [name, isInstant(columns[name]) && typeof value === "string" ? new Date(value) : value]),
  );
}

/**
 * Keyset paging of lists (docs/rules/management-api.md#lists). A cursor is base64url of the last row's sort key. It says
 * where to continue, not how many rows to skip, so that page 1,000 costs as much as page 1.
 */

import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { asc, desc, gt, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { z } from "zod";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { isStorable } from "../../shared/schema/common.ts";
import type { Page } from "./context.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { errorDetailsOf, fieldError, fieldErrors, parse, UUID } from "./parse.ts";
import { WaitingLine } from "./waiting-line.ts";

const DEFAULT_LIMIT = LIMITS.listRows;
const MAX_LIMIT = LIMITS.listRowsMost;

const querySchema = z.object({
  limit: z
    .string()
    .regex(/^\d+$/, "must be a whole number from 1 to 1000")
    .transform(Number)
    .refine((value) => value >= 1, "must be a whole number from 1 to 1000")
    .transform((value) => Math.min(value, MAX_LIMIT))
    .optional(),
  cursor: z
    .string()
    .transform((cursor, context) => readCursor(cursor) ?? refuseCursor(context))
    .optional(),
});

interface PageQuery {
  readonly limit: number;
  /** The sort key of the last row of the previous page. */
  readonly after: readonly string[] | null;
}

/** `limit` and `cursor` of a list's query. Throws 400. */
export function parsePage(query: unknown): PageQuery {
  return pageOf(parse(querySchema, query));
}

/** `limit` and `cursor` of a list with filters, and the filters. Throws 400 that names every wrong parameter of both. */
export function parseFiltered<Filters extends z.ZodRawShape>(
  filters: z.ZodObject<Filters>,
  query: unknown,
): { readonly page: PageQuery; readonly filter: z.output<z.ZodObject<Filters>> } {
  // each schema is read separately, so that neither depends on the other's names
  const both = z.object({ page: querySchema, filter: filters }).safeParse({ page: query, filter: query });
  if (!both.success) throw fieldErrors(errorDetailsOf(both.error, [], 1));
  return { page: pageOf(both.data.page), filter: both.data.filter };
}

function pageOf({ limit, cursor }: z.output<typeof querySchema>): PageQuery {
  return { limit: limit ?? DEFAULT_LIMIT, after: cursor ?? null };
}

interface Created {
  readonly created_at: PgColumn;
  readonly id: PgColumn;
}

/** Rows after (created_at, id), in that order. The time is compared in microseconds, as the database keeps it. */
export function afterCreated(columns: Created, page: PageQuery): SQL | undefined {
  const after = lastCreated(page);
  return after === null ? undefined : sql`(${columns.created_at}, ${columns.id}) > (${after.time}, ${after.id}::uuid)`;
}

/** Rows before (created_at, id): the pages of a list whose newest row comes first. */
export function beforeCreated(columns: Created, page: PageQuery): SQL | undefined {
  const after = lastCreated(page);
  return after === null ? undefined : sql`(${columns.created_at}, ${columns.id}) < (${after.time}, ${after.id}::uuid)`;
}

/**
 * The newest rows of one group before (created_at, id), written so that only the index of groups can answer it: the planner
 * assumes that rows are spread evenly, and would otherwise search the newest rows of all groups.
 */
export function newestWithin(
  group: PgColumn,
  value: string,
  columns: Created,
  page: PageQuery,
): { readonly where: SQL; readonly orderBy: readonly SQL[] } {
  const after = lastCreated(page);
  const where =
    after === null
      ? sql`${group} BETWEEN ${value}::uuid AND ${value}::uuid`
      : sql`(${group}, ${columns.created_at}, ${columns.id}) < (${value}::uuid, ${after.time}, ${after.id}::uuid) AND ${group} >= ${value}::uuid`;
  return { where, orderBy: [desc(group), ...byNewest(columns)] };
}

/** Rows after a name, in the order of names. Throws 400. */
export function afterName(column: PgColumn, { after }: PageQuery): SQL | undefined {
  if (after === null) return undefined;
  const [name] = after;
  if (name === undefined) throw badCursor();
  return gt(column, name);
}

function lastCreated(page: PageQuery): { readonly time: SQL; readonly id: string } | null {
  if (page.after === null) return null;
  const [at, id] = page.after;
  if (at === undefined || id === undefined || !/^\d{1,17}$/.test(at) || !UUID.test(id)) throw badCursor();
  return { time: timeOf(at), id };
}

/** A time from its microseconds since the epoch, in digits; also for years that an ISO text of four digits cannot show. */
export const timeOf = (micros: string): SQL => sql`to_timestamp(0) + ${micros}::bigint * interval '1 microsecond'`;

export const byCreated = (columns: Created): SQL[] => [asc(columns.created_at), asc(columns.id)];
export const byNewest = (columns: Created): SQL[] => [desc(columns.created_at), desc(columns.id)];

/** Microseconds since the epoch, as text, for the cursor. */
export const createdMicros = (column: PgColumn): SQL<string> =>
  sql<string>`((extract(epoch from ${column}) * 1000000)::bigint)::text`;

/** Rows that are read first, when nobody knows yet how large they are. */
const FIRST_ROWS = 5;
/** Any may be larger than all before it. */
const MOST_ROWS = 50;
/** The bytes for which a part has rows, by those before. */
const PART_BYTES = LIMITS.listBytes / 8;
/** A page of more bytes than this is large. */
const LARGE_BYTES = LIMITS.listBytes / 16;
/** Large pages are read one at a time, in all of this process. */
const largePages = new WaitingLine(1);

/**
 * One page, read a part at a time: `read` gives the next rows of the list behind `after`, at most `limit`. A part has as many as are
 * likely to fit into its bytes, by those before it. Large pages take turns, with pauses as long as their parts took, so
 * that they leave half of the thread to others. A page has at least one row. Throws 503, and what `read` throws.
 */
export async function readPage<Row, T>(
  page: PageQuery,
  read: (part: PageQuery) => PromiseLike<readonly Row[]>,
  sortKey: (row: Row) => readonly string[],
  toRecord: (row: Row) => T,
): Promise<Page<T>> {
  const rows: T[] = [];
  let bytes = 0;
  let { after } = page;
  let size = FIRST_ROWS;
  for (;;) {
    const end = bytes > LARGE_BYTES ? await largePages.begin() : null;
    try {
      const beganMs = performance.now();
      const limit = Math.min(size, page.limit + 1 - rows.length);
      const found = await withDatabaseErrors(async () => await read({ limit, after }));
      for (const row of found) {
        const record = toRecord(row);
        bytes += Buffer.byteLength(JSON.stringify(record));
        const isFull = rows.length === page.limit || (bytes > LIMITS.listBytes && rows.length > 0);
        if (isFull) return { rows, next: after === null ? null : writeCursor(after) };
        rows.push(record);
        after = sortKey(row);
      }
      if (found.length < limit) return { rows, next: null };
      const fitting = (Math.min(PART_BYTES, LIMITS.listBytes - bytes) / bytes) * rows.length;
      size = Math.min(MOST_ROWS, Math.max(1, Math.floor(fitting)));
      if (end !== null) await sleep(performance.now() - beganMs);
    } finally {
      end?.();
    }
  }
}

function writeCursor(parts: readonly string[]): string {
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/** The sort key in a cursor; null for a text that is not a cursor. */
function readCursor(cursor: string): readonly string[] | null {
  try {
    return z.array(z.string().refine(isStorable)).parse(JSON.parse(Buffer.from(cursor, "base64url").toString("utf8")));
  } catch {
    return null;
  }
}

const NO_CURSOR = "is not a cursor of this list";

function refuseCursor(context: z.core.$RefinementCtx<string>): never {
  context.addIssue({ code: "custom", message: NO_CURSOR });
  return z.NEVER;
}

/** The error for a cursor of another list. */
export function badCursor(): Error {
  return fieldError("cursor", NO_CURSOR);
}

/**
 * Answers a read as CSV (docs/rules/management-api.md#csv): a line with the names of the columns, then the rows page by page
 * as the caller takes them, so that an answer of any length needs the memory of a page. A page is read when it is asked for, never
 * ahead; a caller who leaves waits for the end of that read. A failure before the first line is an error like that of every route; a
 * later one breaks the answer off.
 */
import type { Context } from "hono";
import { accepts } from "hono/accepts";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { CSV_TYPE, csvLine } from "../../shared/text/csv.ts";
import type { Page } from "../kernel/context.ts";
import { csvHeaders, csvLines, csvName, isCsvFormat } from "../kernel/csv.ts";
import type { ApiTypes } from "./types.ts";

const JSON_TYPE = "application/json";
const PAGE_ROWS = LIMITS.listRowsMost;

/** Whether the caller wants CSV: the query decides, else the header Accept. Throws 400 for another format. */
export function wantsCsv(c: Context<ApiTypes>): boolean {
  const preferred = (): string => accepts(c, { header: "Accept", supports: [JSON_TYPE, CSV_TYPE], default: JSON_TYPE });
  return isCsvFormat(c.req.query("format") ?? null) ?? preferred() === CSV_TYPE;
}

type ListQuery = Readonly<Record<string, string | undefined>>;

/** As many rows as a query names a limit for; without a limit all, from its cursor on, page by page. Throws 400. */
export async function* listPages<Row>(
  query: ListQuery,
  list: (query: ListQuery) => Promise<Page<Row>>,
): AsyncGenerator<readonly Row[]> {
  const { limit } = query;
  let left = limit === undefined ? Infinity : Math.min(Number(limit), PAGE_ROWS);
  for (let asked: ListQuery = limit === undefined ? { ...query, limit: String(PAGE_ROWS) } : query; ; ) {
    const { rows, next } = await list(asked);
    yield rows;
    left -= rows.length;
    if (next === null || left <= 0) return;
    asked = { ...asked, cursor: next, limit: String(Math.min(left, PAGE_ROWS)) };
  }
}

/** A list without pages, which is CSV only when the query says so. Throws 400 for another format. */
export async function wholeList(
  c: Context<ApiTypes>,
  filename: string,
  columns: readonly string[],
  rows: readonly object[],
): Promise<Response> {
  if (isCsvFormat(c.req.query("format") ?? null) !== true) return c.json(rows);
  return await csvAnswer(c, filename, columns, oneBatch(rows));
}

async function* oneBatch<T>(batch: T): AsyncGenerator<T> {
  yield batch;
}

/** The answer; `filename` is without its ending. Throws what the first page throws. */
export async function csvAnswer(
  c: Context<ApiTypes>,
  filename: string,
  columns: readonly string[],
  pages: AsyncIterable<readonly object[]>,
): Promise<Response> {
  const encoder = new TextEncoder();
  const reading = pages[Symbol.asyncIterator]();
  const first = await reading.next();
  let piece: string | null = csvLine(columns) + (first.done === true ? "" : csvLines(columns, first.value));
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        if (piece === null) {
          const page = await reading.next();
          if (page.done === true) return controller.close();
          piece = csvLines(columns, page.value);
        }
        controller.enqueue(encoder.encode(piece));
        piece = null;
      },
      cancel: async () => {
        await reading.return?.();
      },
    },
    { highWaterMark: 0 },
  );
  for (const [name, value] of Object.entries(csvHeaders(csvName(filename, c.req.query())))) c.header(name, value);
  return c.body(body);
}

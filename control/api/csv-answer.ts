/**
 * Answers a read as CSV (docs/rules/management-api.md#csv): a line with the names of the columns, then the rows page by page
 * as the caller takes them, so that an answer of any length needs the memory of a page. A failure before the first line is
 * an error like that of every route; a later one breaks the answer off.
 */
import type { Context } from "hono";
import { accepts } from "hono/accepts";
import { GatewayError } from "../../shared/errors.ts";
import { csvLine } from "../kernel/csv.ts";
import type { ApiTypes } from "./types.ts";

const JSON_TYPE = "application/json";
export const CSV_TYPE = "text/csv";

/** The forms of an answer, as the query names them. */
export const FORMATS = ["json", "csv"] as const;

/** Whether the caller wants CSV: the query decides, else the header Accept. Throws 400 for another format. */
export function wantsCsv(c: Context<ApiTypes>): boolean {
  const format = c.req.query("format");
  if (format === undefined)
    return accepts(c, { header: "Accept", supports: [JSON_TYPE, CSV_TYPE], default: JSON_TYPE }) === CSV_TYPE;
  if (format !== "json" && format !== "csv")
    throw new GatewayError("validation_failed", {
      details: [{ path: "format", message: `must be one of ${FORMATS.join(", ")}` }],
    });
  return format === "csv";
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
  let page = await reading.next();
  let head = csvLine(columns);
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        if (page.done === true && head === "") {
          controller.close();
          return;
        }
        const rows = page.done === true ? [] : page.value;
        const lines = rows.map((row) => csvLine(columns.map((name) => Reflect.get(row, name))));
        controller.enqueue(encoder.encode(head + lines.join("")));
        head = "";
        if (page.done !== true) page = await reading.next();
      },
      cancel: async () => {
        await reading.return?.();
      },
    },
    { highWaterMark: 0 },
  );
  c.header("content-type", `${CSV_TYPE}; charset=utf-8`);
  c.header("content-disposition", `attachment; filename="${filename}.csv"`);
  c.header("cache-control", "no-store");
  return c.body(body);
}

/** Answers as CSV: whether a query asks for it, the headers of a file, and its lines (docs/rules/management-api.md#csv). */
import { CSV_TYPE, csvLine } from "../../shared/text/csv.ts";
import { NIL_UUID } from "../../shared/usage/usage-row.ts";
import { fieldError } from "./parse.ts";

/** The forms of an answer, as the query names them. */
export const FORMATS = ["json", "csv"] as const;

/** Whether the query asks for CSV; null: it names no format. Throws 400 for another one. */
export function isCsvFormat(format: string | null): boolean | null {
  if (format !== null && format !== "json" && format !== "csv")
    throw fieldError("format", `must be one of ${FORMATS.join(", ")}`);
  return format === null ? null : format === "csv";
}

/** The headers of a file; `filename` is without its ending. */
export function csvHeaders(filename: string): Readonly<Record<string, string>> {
  return {
    "content-type": `${CSV_TYPE}; charset=utf-8`,
    "content-disposition": `attachment; filename="${filename}.csv"`,
    "cache-control": "no-store",
  };
}

/** The parameters of a query that tell two files of one list apart. */
const NAMING = ["group_by", "model", "start_day", "end_day"] as const;
const NAME_MAX = 120;

/** `usage-daily-tenant-2026-11-01-2026-11-28`: the name of a list, and what the query says of the rows; without an ending. */
export function csvName(list: string, query: Readonly<Record<string, string | undefined>>): string {
  const said = NAMING.map((name) => (query[name] ?? "").replaceAll(/[^\w.-]+/g, "_"));
  return [list, ...said.filter((part) => part !== "")].join("-").slice(0, NAME_MAX);
}

/** A line per row, of these columns. An id that stands for none is empty. */
export function csvLines(columns: readonly string[], rows: readonly object[]): string {
  const value = (row: object, name: string): unknown => {
    const field: unknown = Reflect.get(row, name);
    return field === NIL_UUID ? "" : field;
  };
  return rows.map((row) => csvLine(columns.map((name) => value(row, name)))).join("");
}

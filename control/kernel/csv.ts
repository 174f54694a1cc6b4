/** Answers as CSV: whether a query asks for it, the headers of a file, and its lines (docs/rules/management-api.md#csv). */
import { CSV_TYPE, csvLine } from "../../shared/text/csv.ts";
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

/** A line per row, of these columns. */
export function csvLines(columns: readonly string[], rows: readonly object[]): string {
  return rows.map((row) => csvLine(columns.map((name) => Reflect.get(row, name)))).join("");
}

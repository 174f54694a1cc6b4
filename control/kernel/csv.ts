/**
 * Rows as CSV (RFC 4180): a line per row, with CR LF at its end, cells quoted where they need it. A cell that a spreadsheet
 * would take for a formula gets an apostrophe before it, because rows contain texts of clients
 * (docs/rules/management-api.md#csv).
 */
import { fieldError } from "./parse.ts";

export const CSV_TYPE = "text/csv";

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

/** A cell that begins so is a formula to a spreadsheet, or may become one. */
const FORMULA = /^[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",\r\n]/;

/** One line for these values of a row, with its end. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(csvCell).join(",")}\r\n`;
}

/** A line per row, of these columns. */
export function csvLines(columns: readonly string[], rows: readonly object[]): string {
  return rows.map((row) => csvLine(columns.map((name) => Reflect.get(row, name)))).join("");
}

/** Lists and objects are JSON; null and what is not there is an empty cell. Numbers are written as in JSON. */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const written = typeof value === "string" ? value : JSON.stringify(value);
  const text = FORMULA.test(written) ? `'${written}` : written;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

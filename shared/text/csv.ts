/**
 * Rows as CSV (RFC 4180): a line per row, with CR LF at its end, cells quoted where they need it. A cell that a spreadsheet
 * would take for a formula gets an apostrophe before it, because rows contain texts of clients
 * (docs/rules/management-api.md#csv). Pure.
 */

/** The media type of such a file. */
export const CSV_TYPE = "text/csv";

/**
 * A cell that starts with these is a formula to a spreadsheet, or may become one; some read full-width signs as the plain ones.
 */
const FORMULA = /^[=+\-@\t\r＝＋－＠]/;
/** A spreadsheet can take semicolons and tabs for the ends of cells, also in a file with commas. */
const NEEDS_QUOTES = /[",;\t\r\n]/;

/** One line for these values of a row, with its end. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(csvCell).join(",")}\r\n`;
}

/** Lists and objects are JSON; null and absent values are an empty cell. Numbers are written as in JSON. */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const written = typeof value === "string" ? value : JSON.stringify(value);
  const text = FORMULA.test(written) ? `'${written}` : written;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The rows of a table as they are shown, as a file: for tables whose rows the API has not as a list of its own. Pure. */
import type { ReactNode } from "react";
import { csvLine } from "../../../shared/text/csv.ts";
import type { SortValue } from "../../ui/sorted.ts";

/** A column of the file. */
export interface CsvColumn<T> {
  readonly id: string;
  readonly head: ReactNode;
  /** The name of the column, where its head is no text. */
  readonly name?: string;
  readonly sortBy?: (row: T) => SortValue;
  /** What stands in the file; absent: what the column is ordered by. Without either the column is not in the file. */
  readonly csv?: (row: T) => SortValue;
  /** The unit of the file's numbers, where the table writes them with units of their own. */
  readonly unit?: string;
}

/** A line with the heads of the columns, and one for each row. */
export function shownCsv<T>(columns: readonly CsvColumn<T>[], rows: readonly T[]): string {
  const written = columns.flatMap(({ id, head, name, csv, sortBy, unit }) => {
    const value = csv ?? sortBy;
    const title = name ?? (typeof head === "string" ? head : id);
    return value === undefined ? [] : [{ value, title: unit === undefined ? title : `${title} (${unit})` }];
  });
  return [
    csvLine(written.map(({ title }) => title)),
    ...rows.map((row) => csvLine(written.map(({ value }) => knownOf(value(row))))),
  ].join("");
}

/** JSON has no NaN and no infinity: a cell that is not known is empty. */
function knownOf(value: SortValue): SortValue {
  return typeof value === "number" && !Number.isFinite(value) ? null : value;
}

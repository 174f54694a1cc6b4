/**
 * The order of a table that is in the document whole, as its address says it: `cost` ascending, `-cost` descending. Pure. What is
 * not known stands last in either direction.
 */

interface Sort {
  readonly column: string;
  readonly isDescending: boolean;
}
/** By what a row stands in an order; null: not known, and last. */
export type SortValue = string | number | null;

/** By what rows are put in order, by column. */
type SortValues<T> = Readonly<Record<string, (row: T) => SortValue>>;

/** The order that an address names; undefined for a column that cannot be sorted by. */
export function sortFrom<T>(param: string | undefined, values: SortValues<T>): Sort | undefined {
  if (param === undefined) return undefined;
  const isDescending = param.startsWith("-");
  const column = isDescending ? param.slice(1) : param;
  return Object.hasOwn(values, column) ? { column, isDescending } : undefined;
}

/** An order as it stands in an address. */
export function sortParam({ column, isDescending }: Sort): string {
  return isDescending ? `-${column}` : column;
}

/** The rows in this order; equal ones, and all of them without an order, stay as they are. */
export function sortedRows<T>(rows: readonly T[], sort: Sort | undefined, values: SortValues<T>): readonly T[] {
  const of = sort === undefined ? undefined : values[sort.column];
  if (sort === undefined || of === undefined) return rows;
  const sign = sort.isDescending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: knownOf(of(row)) }))
    .sort((a, b) => {
      if (a.value === null || b.value === null) return Number(a.value === null) - Number(b.value === null);
      return sign * compared(a.value, b.value);
    })
    .map(({ row }) => row);
}

function knownOf(value: SortValue): SortValue {
  return typeof value === "number" && Number.isNaN(value) ? null : value;
}

const TEXTS = new Intl.Collator();

function compared(a: string | number, b: string | number): number {
  if (typeof a === "string" && typeof b === "string") return TEXTS.compare(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}

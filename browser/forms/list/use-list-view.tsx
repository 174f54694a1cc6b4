/**
 * How a list is looked at: which columns, in which order. Both stand in the address, so that a reload, a link and the way back
 * show the same (docs/rules/console.md#lists).
 */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { textOf } from "../../data/untyped.ts";
import { type SortValue, sortedRows, sortFrom, sortParam } from "../../ui/sorted.ts";
import type { Column, TableProps } from "../../ui/table.tsx";
import { ColumnChoice } from "./column-choice.tsx";
import { shownColumns } from "./list-columns.ts";
import { ShownCsvButton } from "./shown-csv-button.tsx";

/** A column that can be hidden. */
export interface ListColumn<T> extends Omit<Column<T>, "isSortable"> {
  /** Shown only when it is chosen. */
  readonly isExtra?: boolean;
  /** Hidden as well while `sortBy` has nothing (0, an empty text, null) for every row. */
  readonly isOftenEmpty?: boolean;
  /** By what rows are put in the order of this column; absent: there is no such order. Rows are put in order again when it is another function. */
  readonly sortBy?: (row: T) => SortValue;
  /** What stands in a file of the rows as they are shown; absent: what the column is ordered by. */
  readonly csv?: (row: T) => SortValue;
  /** The unit of its numbers in that file. */
  readonly unit?: string;
}

interface ListViewOptions<T> {
  /** Undefined while they are read. */
  readonly rows: readonly T[] | undefined;
  readonly columns: readonly ListColumn<T>[];
  /** The order without one in the address; absent: that of the rows. */
  readonly usual?: NonNullable<TableProps<T>["sort"]>;
  /** Before the names of the parameters, on a page with several lists. */
  readonly prefix?: string;
  /** What the table lists, on a page with several. */
  readonly label?: string;
  /** The name of a file of the rows as they are shown; absent: the list has its CSV elsewhere (CsvLink). */
  readonly file?: string;
}

/** What a table takes, and the buttons that choose its columns and store its rows. */
export interface ListView<T> extends Required<Pick<TableProps<T>, "columns" | "onSort">>, Pick<TableProps<T>, "sort"> {
  readonly rows: readonly T[] | undefined;
  readonly choice: ReactNode;
}

/** Rows and columns as the address of the page says. The route has to know the parameters (LIST_PARAMS, listParams). */
export function useListView<T>({
  rows,
  columns: given,
  usual,
  prefix = "",
  label,
  file,
}: ListViewOptions<T>): ListView<T> {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const [sortName, columnsName] = [`${prefix}sort`, `${prefix}columns`];
  const chosenSort = textOf(search[sortName]) ?? undefined;
  const chosenColumns = textOf(search[columnsName]) ?? undefined;
  const columns = useMemo(
    () =>
      given.map((one) => (one.isOftenEmpty === true && rows?.every(isEmptyIn(one)) ? { ...one, isExtra: true } : one)),
    [given, rows],
  );
  const orders = Object.fromEntries(
    columns.flatMap(({ id, sortBy }) => (sortBy === undefined ? [] : [[id, sortBy] as const])),
  );
  const sort = sortFrom(chosenSort, orders) ?? usual;
  const { column = "", isDescending = false } = sort ?? {};
  const by = orders[column];
  const sorted = useMemo(
    () => rows && (by === undefined ? rows : sortedRows(rows, { column, isDescending }, { [column]: by })),
    [rows, column, isDescending, by],
  );
  const shown = shownColumns(columns, chosenColumns);
  const change = (changed: Readonly<Record<string, string | undefined>>): void =>
    void navigate({
      to: ".",
      search: (before: object) => ({ ...before, ...changed }) as never,
      replace: true,
      resetScroll: false,
    });
  return {
    rows: sorted,
    columns: shown.map((one) => ({ ...one, isSortable: one.sortBy !== undefined })),
    sort,
    onSort: (order) => change({ [sortName]: sortParam(order) }),
    choice: (
      <>
        <ColumnChoice
          {...(label === undefined ? {} : { label })}
          columns={columns}
          shown={shown}
          onChoose={(param) => change({ [columnsName]: param })}
          onReset={
            chosenSort === undefined && chosenColumns === undefined
              ? undefined
              : () => change({ [sortName]: undefined, [columnsName]: undefined })
          }
        />
        {file !== undefined && <ShownCsvButton file={file} label={label} columns={shown} rows={sorted ?? []} />}
      </>
    ),
  };
}

const isEmptyIn =
  <T,>({ sortBy }: ListColumn<T>) =>
  (row: T): boolean =>
    !sortBy?.(row);

import { it } from "vitest";

interface Table {
  readonly each: (rows: readonly unknown[]) => (title: string, options: object, test: () => unknown) => void;
}

/**
 * `it.each`, or that of `of`, for a table whose first `count` rows show the rule's main case: `npm test` runs them, and the
 * rest has the tag `check`.
 */
export function mainRows(count: number): typeof it.each;
export function mainRows<T extends { readonly each: unknown }>(count: number, of: T): T["each"];
export function mainRows(count: number, of: object = it): unknown {
  const table = of as Table;
  return (rows: readonly unknown[]) => (title: string, test: () => unknown) => {
    table.each(rows.slice(0, count))(title, {}, test);
    table.each(rows.slice(count))(title, { tags: ["check"] }, test);
  };
}

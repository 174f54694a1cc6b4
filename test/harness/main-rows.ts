import { it } from "vitest";

interface Table {
  readonly each: (rows: readonly unknown[]) => (title: string, options: object, test: () => unknown) => void;
}

/**
 * Like `it.each`, or `of.each`, for a table whose first `count` rows show the rule's main cases. Those rows have no tag, so
 * `npm test` runs them. The other rows have the tag `check`. With 0, `npm test` runs none.
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

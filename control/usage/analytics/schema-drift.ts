/**
 * What differs between the tables of the analytics store and those that the gateway made
 * (docs/rules/storage-layouts.md#changed-columns). Pure.
 */
import { z } from "zod";
import { TABLE_COLUMNS } from "./migrations.ts";

export const columnSchema = z.object({ table: z.string(), name: z.string(), type: z.string() });

export interface ColumnDrift {
  /** The column and what is wrong with it, in words. */
  readonly detail: string;
  /** The fix, for somebody who may change the tables. */
  readonly statement: string;
}

/** Selects what {@link columnDrift} takes. */
export const columnsQuery = (db: string): string =>
  `SELECT table, name, type FROM system.columns WHERE database = '${db}'`;

/**
 * Columns that are missing or have another type, in the order in which their statements can be run. Further columns change
 * nothing, and a table that is missing as a whole is made again.
 */
export function columnDrift(db: string, found: readonly z.infer<typeof columnSchema>[]): readonly ColumnDrift[] {
  return Object.entries(TABLE_COLUMNS).flatMap(([table, columns]) => {
    const types = new Map(found.flatMap((column) => (column.table === table ? [[column.name, column.type]] : [])));
    if (types.size === 0) return [];
    return columns.flatMap((definition, at) => {
      const [name, type] = named(definition);
      const is = types.get(name);
      if (is === type) return [];
      const alter = `ALTER TABLE ${db}.${table}`;
      if (is !== undefined)
        return [
          {
            detail: `${table}.${name} is ${is} instead of ${type}`,
            statement: `${alter} MODIFY COLUMN ${definition}`,
          },
        ];
      const [before] = named(columns[at - 1] ?? "");
      const place = before === "" ? "FIRST" : `AFTER ${before}`;
      return [{ detail: `${table}.${name} is missing`, statement: `${alter} ADD COLUMN ${definition} ${place}` }];
    });
  });
}

/** The name of a column, and its type as the store writes it. */
function named(definition: string): readonly [name: string, type: string] {
  const space = definition.indexOf(" ");
  const [type = ""] = definition.slice(space + 1).split(" CODEC(", 1);
  return [definition.slice(0, Math.max(space, 0)), type];
}

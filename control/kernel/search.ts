/** Searches of lists for a part of a text (docs/rules/management-api.md#searches). */
import { type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";

/**
 * True for rows in which one of the columns contains `part`, in any case. The text itself is sought, by its position and
 * not by a pattern, so that no character has a special meaning. Undefined without a part: every row.
 */
export function containing(part: string | undefined, columns: readonly PgColumn[]): SQL | undefined {
  if (part === undefined) return undefined;
  const found = columns.map((column) => sql`position(lower(${part}) in lower(${column})) > 0`);
  return sql`(${sql.join(found, sql` OR `)})`;
}

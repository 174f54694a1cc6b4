/**
 * What the assistant keeps (docs/rules/storage-layouts.md#relational-tables): which proposals have been run, so that each
 * runs once.
 */
import { integer, pgTable, uuid } from "drizzle-orm/pg-core";
import { instant } from "../db/schema/columns.ts";

/** A proposal that has been run, until no token of it is taken any more. */
export const assistantRuns = pgTable("assistant_runs", {
  id: uuid("id").primaryKey(),
  expires_at: instant("expires_at").notNull(),
  /** Of the answer; null: none has come. */
  status: integer("status"),
});

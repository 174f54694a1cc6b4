/**
 * People who sign in to the console, and their sessions (docs/rules/storage-layouts.md#relational-tables).
 */
import { pgTable, text, uuid } from "drizzle-orm/pg-core";
import { USER_FIELDS } from "../../../shared/fields/user-fields.ts";
import { fieldColumns, idColumn, instant, NOW, timeColumns } from "./columns.ts";

export const users = pgTable("dashboard_users", {
  ...fieldColumns(USER_FIELDS),
  ...idColumn,
  ...timeColumns,
});

/** A session is found by the hash of its token, which only the browser has. */
export const sessions = pgTable("dashboard_sessions", {
  token_hash: text("token_hash").primaryKey(),
  user_id: uuid("user_id").notNull(),
  expires_at: instant("expires_at").notNull(),
  created_at: instant("created_at").notNull().default(NOW),
});

export type UserRow = typeof users.$inferSelect;

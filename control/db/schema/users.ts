/**
 * People who sign in to the console, and their sessions (docs/rules/storage-layouts.md#relational-tables).
 */
import { sql } from "drizzle-orm";
import { pgTable, text, uuid } from "drizzle-orm/pg-core";
import { USER_FIELDS } from "../../../shared/fields/user-fields.ts";
import { fieldColumns, idColumn, instant, NOW, revColumn, timeColumns } from "./columns.ts";

export const users = pgTable("dashboard_users", {
  ...fieldColumns(USER_FIELDS),
  ...idColumn,
  ...timeColumns,
  // no cell knows users, so a sign-in draws a revision without the lock of a write
  rev: revColumn.rev.default(sql`nextval('config_rev')`),
});

/** A session is found by the hash of its token, which only the browser has. */
export const sessions = pgTable("dashboard_sessions", {
  token_hash: text("token_hash").primaryKey(),
  user_id: uuid("user_id").notNull(),
  expires_at: instant("expires_at").notNull(),
  created_at: instant("created_at").notNull().default(NOW),
});

export type UserRow = typeof users.$inferSelect;

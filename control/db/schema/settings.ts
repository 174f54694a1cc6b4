/**
 * Saved settings, one row each (decisions §9, §33): only what was saved, secrets sealed; defaults are the reader's.
 */
import { jsonb, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import { revColumn } from "./columns.ts";

export const appSettings = pgTable("app_settings", {
  key: text("key").primaryKey(),
  value: jsonb("value").$type<unknown>().notNull(),
  updated_at: timestamp("updated_at", { withTimezone: true }).notNull().defaultNow(),
  ...revColumn,
});

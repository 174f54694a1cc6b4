/**
 * Saved settings, one row each (docs/rules/settings.md#common-rules, docs/rules/storage-layouts.md#relational-tables). A
 * row has only what was saved, with secrets sealed; its reader adds the defaults.
 */
import { boolean, jsonb, pgTable, text } from "drizzle-orm/pg-core";
import { instant, NOW, revColumn } from "./columns.ts";

export const appSettings = pgTable("app_settings", {
  key: text("key").primaryKey(),
  value: jsonb("value").$type<unknown>().notNull(),
  updated_at: instant("updated_at").notNull().default(NOW),
  ...revColumn,
});

/**
 * The revision of what has no row: a setting that was never saved. One row, since the first resync
 * (docs/rules/freshness.md#resync); before it, 0.
 */
export const revisionFloor = pgTable("revision_floor", {
  singleton: boolean("singleton").primaryKey().default(true),
  ...revColumn,
});

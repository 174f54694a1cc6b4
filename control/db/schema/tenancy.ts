/**
 * Fairshare groups, tenants and their keys, and the names of deleted ones
 * (docs/rules/storage-layouts.md#relational-tables).
 */
import { pgTable, text, uuid } from "drizzle-orm/pg-core";
import { GROUP_FIELDS } from "../../../shared/fields/group-fields.ts";
import { KEY_FIELDS } from "../../../shared/fields/key-fields.ts";
import { TENANT_FIELDS } from "../../../shared/fields/tenant-fields.ts";
import { fieldColumns, idColumn, instant, NOW, revColumn, timeColumns } from "./columns.ts";

export const fairshareGroups = pgTable("fairshare_groups", {
  ...fieldColumns(GROUP_FIELDS),
  name: text("name").primaryKey(),
  ...timeColumns,
  ...revColumn,
});

export const tenants = pgTable("tenants", {
  ...fieldColumns(TENANT_FIELDS),
  ...idColumn,
  ...timeColumns,
  ...revColumn,
});

export const apiKeys = pgTable("api_keys", {
  ...fieldColumns(KEY_FIELDS),
  ...idColumn,
  ...timeColumns,
  ...revColumn,
});

/** What rows of the ledger call deleted tenants and keys. `tenant_id` of a tenant is its own id. */
export const deletedNames = pgTable("deleted_names", {
  id: uuid("id").primaryKey(),
  tenant_id: uuid("tenant_id").notNull(),
  name: text("name").notNull(),
  key_prefix: text("key_prefix").notNull().default(""),
  deleted_at: instant("deleted_at").notNull().default(NOW),
});

export type GroupRow = typeof fairshareGroups.$inferSelect;
export type TenantRow = typeof tenants.$inferSelect;
export type ApiKeyRow = typeof apiKeys.$inferSelect;

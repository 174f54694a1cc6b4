/**
 * Fairshare groups, tenants and their keys (docs/rules/storage-layouts.md#relational-tables).
 */
import { pgTable, text } from "drizzle-orm/pg-core";
import { GROUP_FIELDS } from "../../../shared/fields/group-fields.ts";
import { KEY_FIELDS } from "../../../shared/fields/key-fields.ts";
import { TENANT_FIELDS } from "../../../shared/fields/tenant-fields.ts";
import { fieldColumns, idColumn, revColumn, timeColumns } from "./columns.ts";

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

export type GroupRow = typeof fairshareGroups.$inferSelect;
export type TenantRow = typeof tenants.$inferSelect;
export type ApiKeyRow = typeof apiKeys.$inferSelect;

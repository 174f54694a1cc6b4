/**
 * Fairshare groups, tenants and their keys (decisions §33).
 */
import { pgTable, text } from "drizzle-orm/pg-core";
import { GROUP_FIELDS } from "../../../shared/fields/group-fields.ts";
import { KEY_FIELDS } from "../../../shared/fields/key-fields.ts";
import { TENANT_FIELDS } from "../../../shared/fields/tenant-fields.ts";
import { columnsOf, idColumn, revColumn, timeColumns } from "./columns.ts";

export const fairshareGroups = pgTable("fairshare_groups", {
  ...columnsOf(GROUP_FIELDS),
  name: text("name").primaryKey(),
  ...timeColumns,
  ...revColumn,
});

export const tenants = pgTable("tenants", {
  ...columnsOf(TENANT_FIELDS),
  ...idColumn,
  ...timeColumns,
  ...revColumn,
});

export const apiKeys = pgTable("api_keys", {
  ...columnsOf(KEY_FIELDS),
  ...idColumn,
  ...timeColumns,
  ...revColumn,
});

export type GroupRow = typeof fairshareGroups.$inferSelect;
export type TenantRow = typeof tenants.$inferSelect;
export type ApiKeyRow = typeof apiKeys.$inferSelect;

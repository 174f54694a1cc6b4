/**
 * Fairshare groups, tenants and their keys (decisions §33).
 */
import { bigint, boolean, doublePrecision, integer, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { idColumn, instant, revColumn, timeColumns } from "./columns.ts";

const budgetColumns = {
  budget_tokens: bigint("budget_tokens", { mode: "number" }),
  budget_cost_usd: doublePrecision("budget_cost_usd"),
  budget_period: text("budget_period"),
  budget_started_at: instant("budget_started_at"),
};

export const fairshareGroups = pgTable("fairshare_groups", {
  name: text("name").primaryKey(),
  weight: integer("weight").notNull(),
  ...timeColumns,
  ...revColumn,
});

export const tenants = pgTable("tenants", {
  ...idColumn,
  name: text("name").notNull().unique(),
  description: text("description").notNull(),
  organization: text("organization").notNull(),
  contact: text("contact").notNull(),
  status: text("status").notNull(),
  timezone: text("timezone").notNull(),
  fairshare_group: text("fairshare_group").notNull(),
  weight: integer("weight").notNull(),
  tokens_per_minute: bigint("tokens_per_minute", { mode: "number" }).notNull(),
  max_in_flight: bigint("max_in_flight", { mode: "number" }),
  active_from: instant("active_from"),
  active_until: instant("active_until"),
  weekly_windows: jsonb("weekly_windows").$type<unknown>().notNull(),
  ...budgetColumns,
  allowed_models: jsonb("allowed_models").$type<unknown>(),
  guardrails_policy: jsonb("guardrails_policy").$type<unknown>(),
  compression_policy: jsonb("compression_policy").$type<unknown>(),
  tracing_enabled: boolean("tracing_enabled").notNull(),
  synthetic: boolean("synthetic").notNull(),
  ...timeColumns,
  ...revColumn,
});

export const apiKeys = pgTable("api_keys", {
  ...idColumn,
  tenant_id: uuid("tenant_id").notNull(),
  name: text("name").notNull(),
  description: text("description").notNull(),
  key_prefix: text("key_prefix").notNull(),
  key_hash: text("key_hash").notNull().unique(),
  disabled: boolean("disabled").notNull(),
  tracing_enabled: boolean("tracing_enabled").notNull(),
  ...budgetColumns,
  ...timeColumns,
  ...revColumn,
});

export type GroupRow = typeof fairshareGroups.$inferSelect;
export type TenantRow = typeof tenants.$inferSelect;
export type ApiKeyRow = typeof apiKeys.$inferSelect;

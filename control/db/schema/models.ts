/**
 * Models and their health state (decisions §33).
 */
import { bigint, boolean, doublePrecision, integer, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { idColumn, instant, NOW, revColumn, timeColumns } from "./columns.ts";

export const models = pgTable("models", {
  ...idColumn,
  model_name: text("model_name").notNull().unique(),
  description: text("description").notNull(),
  model_type: text("model_type").notNull(),
  upstream_model: text("upstream_model").notNull(),
  api_base: text("api_base").notNull(),
  api_key: text("api_key"),
  enabled: boolean("enabled").notNull(),
  input_cost_per_token: doublePrecision("input_cost_per_token").notNull(),
  output_cost_per_token: doublePrecision("output_cost_per_token").notNull(),
  cost_per_image: doublePrecision("cost_per_image").notNull(),
  cost_per_character: doublePrecision("cost_per_character").notNull(),
  cost_per_audio_second: doublePrecision("cost_per_audio_second").notNull(),
  context_window: bigint("context_window", { mode: "number" }).notNull(),
  admission_weight: integer("admission_weight").notNull(),
  supports_function_calling: boolean("supports_function_calling").notNull(),
  supports_system_messages: boolean("supports_system_messages").notNull(),
  supports_response_schema: boolean("supports_response_schema").notNull(),
  supports_tool_choice: boolean("supports_tool_choice").notNull(),
  supports_vision: boolean("supports_vision").notNull(),
  tags: jsonb("tags").$type<string[]>().notNull(),
  boons: jsonb("boons").$type<string[]>().notNull(),
  tool_servers: jsonb("tool_servers").$type<string[]>().notNull(),
  energy_slots_per_node: bigint("energy_slots_per_node", { mode: "number" }).notNull(),
  max_in_flight: bigint("max_in_flight", { mode: "number" }),
  capacity_mode: text("capacity_mode").notNull(),
  capacity_tuned_at: instant("capacity_tuned_at"),
  cache_enabled: boolean("cache_enabled").notNull(),
  cache_ttl_secs: integer("cache_ttl_secs").notNull(),
  request_timeout_secs: integer("request_timeout_secs"),
  max_retries: integer("max_retries").notNull(),
  retry_backoff_ms: integer("retry_backoff_ms").notNull(),
  endpoint_selection_mode: text("endpoint_selection_mode").notNull(),
  debug_diagnostics: boolean("debug_diagnostics").notNull(),
  health_checks_enabled: boolean("health_checks_enabled").notNull(),
  health_alerts_enabled: boolean("health_alerts_enabled").notNull(),
  health_check_interval_secs: bigint("health_check_interval_secs", { mode: "number" }).notNull(),
  health_failure_threshold: bigint("health_failure_threshold", { mode: "number" }).notNull(),
  health_maintenance_until: instant("health_maintenance_until"),
  health_maintenance_note: text("health_maintenance_note"),
  ...timeColumns,
  ...revColumn,
});

export const modelHealth = pgTable("model_health", {
  model_id: uuid("model_id").primaryKey(),
  status: text("status").notNull().default("unknown"),
  consecutive_failures: integer("consecutive_failures").notNull().default(0),
  alert_state: text("alert_state").notNull().default("ok"),
  next_check_at: instant("next_check_at"),
  last_checked_at: instant("last_checked_at"),
  last_latency_ms: integer("last_latency_ms"),
  last_http_status: integer("last_http_status"),
  last_message: text("last_message"),
  /** Requests that began before say nothing of the model's health: it was found unwell then, or was another upstream. */
  evidence_from: instant("evidence_from"),
  /** The first of the consecutive failures. */
  failing_since: instant("failing_since"),
  updated_at: instant("updated_at").notNull().default(NOW),
});

export const modelHealthChecks = pgTable("model_health_checks", {
  ...idColumn,
  model_id: uuid("model_id").notNull(),
  endpoint_id: uuid("endpoint_id"),
  checked_at: instant("checked_at").notNull().default(NOW),
  trigger: text("trigger").notNull(),
  status: text("status").notNull(),
  latency_ms: integer("latency_ms"),
  http_status: integer("http_status"),
  message: text("message"),
  response_excerpt: text("response_excerpt"),
});

export type HealthRow = typeof modelHealth.$inferSelect;
export type ModelRow = typeof models.$inferSelect;
export type NewModelRow = typeof models.$inferInsert;

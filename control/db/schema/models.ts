/**
 * Models and their health state (docs/rules/storage-layouts.md#relational-tables).
 */
import { integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { MODEL_FIELDS } from "../../../shared/fields/model-fields.ts";
import { fieldColumns, idColumn, instant, NOW, revColumn, timeColumns } from "./columns.ts";

export const models = pgTable("models", {
  ...fieldColumns(MODEL_FIELDS),
  ...idColumn,
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
  /**
   * Requests that began before this time do not count for the model's health: the model was found unwell then, or had
   * another upstream.
   */
  evidence_from: instant("evidence_from"),
  /** When the first of the consecutive failures happened. */
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

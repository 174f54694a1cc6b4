/**
 * The endpoints of models (decisions §33): where a model's calls go, each with its own health.
 */
import { bigint, boolean, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { idColumn, instant, revColumn, timeColumns } from "./columns.ts";

export const modelEndpoints = pgTable("model_endpoints", {
  ...idColumn,
  model_id: uuid("model_id").notNull(),
  name: text("name").notNull(),
  api_base: text("api_base").notNull(),
  api_key: text("api_key"),
  priority: bigint("priority", { mode: "number" }).notNull(),
  weight: bigint("weight", { mode: "number" }).notNull(),
  enabled: boolean("enabled").notNull(),
  health_status: text("health_status").notNull().default("unknown"),
  consecutive_failures: integer("consecutive_failures").notNull().default(0),
  alert_state: text("alert_state").notNull().default("ok"),
  next_check_at: instant("next_check_at"),
  last_checked_at: instant("last_checked_at"),
  last_latency_ms: integer("last_latency_ms"),
  last_http_status: integer("last_http_status"),
  last_message: text("last_message"),
  /** The first of the consecutive failures. */
  failing_since: instant("failing_since"),
  ...timeColumns,
  ...revColumn,
});

export type EndpointRow = typeof modelEndpoints.$inferSelect;

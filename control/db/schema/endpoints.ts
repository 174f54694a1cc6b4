/**
 * The endpoints of models (docs/rules/storage-layouts.md#relational-tables): the addresses that a model's calls go to, each
 * with its own health.
 */
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { ENDPOINT_FIELDS } from "../../../shared/fields/endpoint-fields.ts";
import { fieldColumns, idColumn, revColumn, timeColumns } from "./columns.ts";

export const modelEndpoints = pgTable("model_endpoints", {
  ...fieldColumns(ENDPOINT_FIELDS),
  health_status: text("health_status").notNull().default("unknown"),
  consecutive_failures: integer("consecutive_failures").notNull().default(0),
  alert_state: text("alert_state").notNull().default("ok"),
  ...idColumn,
  ...timeColumns,
  ...revColumn,
});

export type EndpointRow = typeof modelEndpoints.$inferSelect;

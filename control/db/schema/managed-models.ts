/**
 * Managed models, their replicas, recipes, and what is known of the provisioner
 * (docs/rules/storage-layouts.md#relational-tables).
 */
import { sql } from "drizzle-orm";
import { boolean, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { MANAGED_MODEL_FIELDS } from "../../../shared/fields/managed-model-fields.ts";
import { MODEL_REPLICA_FIELDS } from "../../../shared/fields/model-replica-fields.ts";
import { RECIPE_FIELDS } from "../../../shared/fields/recipe-fields.ts";
import { TICK_OUTCOMES } from "../../../shared/schema/settings/jobsched.ts";
import { fieldColumns, idColumn, instant, NOW, revColumn, timeColumns } from "./columns.ts";

export const managedModels = pgTable("managed_models", {
  ...fieldColumns(MANAGED_MODEL_FIELDS),
  model_id: uuid("model_id").primaryKey(),
  ...timeColumns,
  ...revColumn,
});

export const modelReplicas = pgTable("model_replicas", {
  ...fieldColumns(MODEL_REPLICA_FIELDS),
  nodes: text("nodes").notNull().default(""),
  state_since: instant("state_since").notNull().default(NOW),
  restart_count: integer("restart_count").notNull().default(0),
  probe_misses: integer("probe_misses").notNull().default(0),
  cancel_requested: boolean("cancel_requested").notNull().default(false),
  ...idColumn,
  ...timeColumns,
  ...revColumn,
});

export const recipes = pgTable("recipes", {
  ...fieldColumns(RECIPE_FIELDS),
  ...idColumn,
  ...timeColumns,
  ...revColumn,
});

/** At most one row. No backup contains it: a gateway that is restored from another's backup must not take over that one's jobs. */
export const provisionerState = pgTable("provisioner_state", {
  singleton: boolean("singleton").primaryKey().default(true),
  /** Names this gateway in the comments of its jobs. */
  installation_id: uuid("installation_id").notNull().default(sql`gen_random_uuid()`),
  /** The last read of the resolved settings, and what it said of the tick before it. */
  last_tick_at: instant("last_tick_at"),
  last_outcome: text("last_outcome", { enum: TICK_OUTCOMES }),
  last_error: text("last_error"),
  last_ok_at: instant("last_ok_at"),
  /** Since when the watch sees the provisioner enabled. */
  enabled_since: instant("enabled_since"),
  /** Since when the alert stands that no tick succeeds. */
  held_since: instant("held_since"),
});

export type ManagedModelRow = typeof managedModels.$inferSelect;
export type ModelReplicaRow = typeof modelReplicas.$inferSelect;
export type RecipeRow = typeof recipes.$inferSelect;

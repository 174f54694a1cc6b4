/** The status of a model in reads: what its checks found, unless no replica serves it (docs/rules/health.md#shown-state). */
import { eq, type SQL, sql } from "drizzle-orm";
import { managedModels, modelReplicas } from "./schema/managed-models.ts";
import { modelHealth, models } from "./schema/models.ts";

// Subqueries of one value: PostgreSQL would answer EXISTS by reading whole tables for each page of models.
const isServed: SQL = sql`(SELECT true FROM ${modelReplicas}
  WHERE ${eq(modelReplicas.model_id, models.id)} AND ${modelReplicas.state} = 'healthy' LIMIT 1)`;
const isUnserved: SQL = sql`(SELECT ${managedModels.enabled} AND ${managedModels.target_replicas} > 0 AND ${isServed} IS NULL
  FROM ${managedModels} WHERE ${eq(managedModels.model_id, models.id)})`;

/** The status in a read that joins the health of its models. */
export const shownStatus: SQL<string> = sql<string>`CASE WHEN ${modelHealth.status} IS DISTINCT FROM 'healthy' AND ${isUnserved}
  THEN 'unhealthy' ELSE coalesce(${modelHealth.status}, 'unknown') END`;

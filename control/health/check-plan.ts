/**
 * What one check of a model looks at: the model and its endpoints as they are now, and whether anything may be probed
 * at all (docs/rules/health.md#records, docs/rules/health.md#probes). What the check finds is valid for this plan only:
 * see save-check.ts.
 */
import { and, asc, eq } from "drizzle-orm";
import type { Database } from "../db/connect.ts";
import { type EndpointRow, modelEndpoints } from "../db/schema/endpoints.ts";
import { managedModels } from "../db/schema/managed-models.ts";
import { type HealthRow, type ModelRow, modelHealth, models } from "../db/schema/models.ts";
import { type Finding, findingOf } from "./finding.ts";

export type CheckTrigger = "manual" | "bulk" | "scheduled";

export interface CheckPlan {
  /** When the check began. */
  readonly at: Date;
  readonly model: ModelRow;
  /** Null: the model was never checked, and no check of it is scheduled. */
  readonly health: HealthRow | null;
  /** The enabled endpoints, sorted by name. */
  readonly endpoints: readonly EndpointRow[];
  /** How many replicas must serve for a managed model to be healthy; null: the model is not managed. */
  readonly minReplicas: number | null;
}

/** The plan of a check that begins now; null when the model does not exist. */
export async function planCheck(db: Database, modelId: string, at: Date): Promise<CheckPlan | null> {
  const [found] = await db
    .select({ model: models, health: modelHealth, minReplicas: managedModels.min_replicas })
    .from(models)
    .leftJoin(managedModels, and(eq(managedModels.model_id, models.id), eq(managedModels.enabled, true)))
    .leftJoin(modelHealth, eq(modelHealth.model_id, models.id))
    .where(eq(models.id, modelId));
  if (found === undefined) return null;
  const endpoints = await db
    .select()
    .from(modelEndpoints)
    .where(eq(modelEndpoints.model_id, modelId))
    .orderBy(asc(modelEndpoints.name));
  return { at, ...found, endpoints: endpoints.filter((endpoint) => endpoint.enabled) };
}

/**
 * Why no probe is made, as a finding; null: the check takes place. A manual check always takes place unless the model is
 * disabled.
 */
export function findingWithoutProbe({ model }: CheckPlan, trigger: CheckTrigger, now: Date): Finding | null {
  if (!model.enabled) return findingOf("disabled", "the model is disabled");
  if (trigger === "manual") return null;
  if (!model.health_checks_enabled) return findingOf("skipped", "checks are off");
  const until = model.health_maintenance_until;
  return until !== null && until > now ? findingOf("skipped", `in maintenance until ${until.toISOString()}`) : null;
}

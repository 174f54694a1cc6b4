/**
 * What the database knows of managed models that a person has to act on (docs/rules/attention.md): a provisioner that
 * cannot work, models whose replicas cannot be started or are all unhealthy, and replicas that were lost.
 */
import { and, asc, eq, gt, isNotNull, isNull, lte, or, sql } from "drizzle-orm";
import type { FoundItem } from "../../../shared/schema/attention.ts";
import { managedModels, modelReplicas, provisionerState } from "../../db/schema/managed-models.ts";
import { models } from "../../db/schema/models.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { jobschedSetting } from "../../kernel/settings/definitions.ts";
import { heldFor } from "../../provisioner/jobsched/provisioner-watch.ts";

/** As much as the whole list shows, of each kind. */
const ROWS_MAX = 200;
/** Of some replicas, the first to come into its state. */
const SINCE = sql<
  string | null
>`to_char(min(${modelReplicas.state_since}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Nobody is called for a model that is off or being worked on. */
export const inUse = (now: Date) =>
  and(eq(models.enabled, true), or(isNull(models.health_maintenance_until), lte(models.health_maintenance_until, now)));

/** The entries, in no particular order. Rejects when the database does not answer. */
export async function provisionerAttention(ctx: VerbContext, now: Date): Promise<readonly FoundItem[]> {
  return [
    ...(await heldProvisioner(ctx, now)),
    ...(await failedModels(ctx)),
    ...(await unservedModels(ctx, now)),
    ...(await lostReplicas(ctx)),
  ];
}

async function heldProvisioner({ db }: VerbContext, now: Date): Promise<readonly FoundItem[]> {
  const [state] = await db.select().from(provisionerState).where(isNotNull(provisionerState.held_since));
  if (state === undefined) return [];
  const [minutes, reason] = heldFor(state, now.getTime());
  return [
    {
      kind: "provisioner_held",
      entity_type: "settings",
      entity_id: jobschedSetting.name,
      name: "Provisioner",
      detail: `no successful reconcile for ${minutes} min: ${reason}`,
      since: state.held_since?.toISOString() ?? null,
    },
  ];
}

async function failedModels({ db }: VerbContext): Promise<readonly FoundItem[]> {
  const rows = await db
    .select({ id: models.id, name: models.model_name, error: managedModels.provision_error })
    .from(managedModels)
    .innerJoin(models, eq(models.id, managedModels.model_id))
    .where(and(isNotNull(managedModels.provision_error), eq(managedModels.enabled, true)))
    .orderBy(asc(models.model_name))
    .limit(ROWS_MAX);
  return rows.map(({ id, name, error }) => ({
    kind: "provision_failed",
    entity_type: "model",
    entity_id: id,
    name,
    detail: error ?? "",
    since: null,
  }));
}

/** None of their replicas was started, or they are on their way, or were lost. */
async function unservedModels({ db }: VerbContext, now: Date): Promise<readonly FoundItem[]> {
  const rows = await db
    .select({ id: models.id, name: models.model_name, wanted: managedModels.target_replicas, since: SINCE })
    .from(managedModels)
    .innerJoin(models, eq(models.id, managedModels.model_id))
    .leftJoin(modelReplicas, eq(modelReplicas.model_id, managedModels.model_id))
    .where(
      and(
        inUse(now),
        eq(managedModels.enabled, true),
        isNull(managedModels.provision_error),
        gt(managedModels.target_replicas, 0),
      ),
    )
    .groupBy(models.id, models.model_name, managedModels.target_replicas)
    .having(sql`bool_and(${modelReplicas.state} IS DISTINCT FROM 'healthy')`)
    .orderBy(asc(models.model_name))
    .limit(ROWS_MAX);
  return rows.map(({ id, name, wanted, since }) => ({
    kind: "no_replica",
    entity_type: "model",
    entity_id: id,
    name,
    detail: `0 of ${wanted} replicas are healthy`,
    since,
  }));
}

async function lostReplicas({ db }: VerbContext): Promise<readonly FoundItem[]> {
  const rows = await db
    .select({
      id: models.id,
      name: models.model_name,
      count: sql<number>`count(*)::int`,
      last: sql<
        string | null
      >`(array_agg(${modelReplicas.last_message} ORDER BY ${modelReplicas.state_since} DESC))[1]`,
      since: SINCE,
    })
    .from(modelReplicas)
    .innerJoin(models, eq(models.id, modelReplicas.model_id))
    .where(eq(modelReplicas.state, "lost"))
    .groupBy(models.id, models.model_name)
    .orderBy(asc(models.model_name))
    .limit(ROWS_MAX);
  return rows.map(({ id, name, count, last, since }) => ({
    kind: "replicas_lost",
    entity_type: "model",
    entity_id: id,
    name,
    detail: `${count} lost, last: ${last ?? "unknown"}`,
    since,
  }));
}

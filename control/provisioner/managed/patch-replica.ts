/**
 * Changes a replica: what the provisioner reports of it, and an admin's wish that its job ends
 * (docs/rules/managed-models.md#replica-fields).
 */
import { and, eq } from "drizzle-orm";
import type { z } from "zod";
import { type ModelReplica, patchReplicaSchema } from "../../../shared/schema/model-replica.ts";
import type { Transaction } from "../../db/connect.ts";
import { modelEndpoints } from "../../db/schema/endpoints.ts";
import { type ModelReplicaRow, modelReplicas } from "../../db/schema/managed-models.ts";
import { changedFields } from "../../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../../kernel/context.ts";
import { dropUndefined, fieldError, parse, parseId } from "../../kernel/parse.ts";
import { write } from "../../kernel/write.ts";
import { lockReplica, readReplica, refuseTaken } from "./model-replica-record.ts";

/** What a change of a replica tells the metrics. */
interface ReplicaEvents {
  /** The scheduler has accepted a job of the provisioner. */
  readonly submitted: () => void;
  /** Jobs were cancelled because their probes failed. */
  readonly restarted: (count: number) => void;
}

/** Counted while a server does not answer, which is in every tick: an audit entry each would bury the others. */
const NOT_AUDITED: readonly string[] = ["probe_misses"];

/** The replica; what is omitted keeps its value. Throws 400, 404, and 409 for a job that another replica has. */
export async function patchReplica(
  ctx: VerbContext,
  events: ReplicaEvents,
  id: string,
  input: unknown,
): Promise<Written<ModelReplica>> {
  const replicaId = parseId(id);
  const body = parse(patchReplicaSchema, input);
  let before: ModelReplicaRow | undefined;
  const written = await write(ctx, async (tx, journal) => {
    before = await lockReplica(tx, replicaId);
    ctx.checkRecord?.(await readReplica(tx, replicaId));
    await refuseForeign(tx, before, body);
    const wanted = columnsOf(body);
    const { changed } = changedFields(before, wanted);
    const names = Object.keys(changed);
    if (names.length === 0) return await readReplica(tx, replicaId);
    const getsJob = before.job_id === null && body.job_id !== undefined;
    const isFoundAgain = before.state === "lost" && "state" in changed;
    if (getsJob || isFoundAgain) await refuseTaken(tx, { job_id: body.job_id ?? before.job_id });
    const now = ctx.now();
    await tx
      .update(modelReplicas)
      .set({ ...wanted, ...("state" in changed ? { state_since: now } : {}), updated_at: now, rev: journal.rev })
      .where(eq(modelReplicas.id, replicaId));
    if (names.some((name) => !NOT_AUDITED.includes(name)))
      journal.audit({
        action: "patch_replica",
        entityType: "model_replica",
        entityId: replicaId,
        detail: { model_name: before.model_name, changed },
      });
    return await readReplica(tx, replicaId);
  });
  if (before?.job_id === null && written.record.job_id !== null) events.submitted();
  const restarts = written.record.restart_count - (before?.restart_count ?? 0);
  if (restarts > 0) events.restarted(restarts);
  return written;
}

/** Asks that the job of a replica ends, so that another one takes its place. Throws 404. */
export async function restartReplica(ctx: VerbContext, id: string): Promise<Written<ModelReplica>> {
  const replicaId = parseId(id);
  return await write(ctx, async (tx, journal) => {
    const { model_name, job_id } = await lockReplica(tx, replicaId);
    ctx.checkRecord?.(await readReplica(tx, replicaId));
    await tx
      .update(modelReplicas)
      .set({ cancel_requested: true, updated_at: ctx.now(), rev: journal.rev })
      .where(eq(modelReplicas.id, replicaId));
    journal.audit({
      action: "restart_replica",
      entityType: "model_replica",
      entityId: replicaId,
      detail: { model_name, job_id },
    });
    return await readReplica(tx, replicaId);
  });
}

type Patch = z.infer<typeof patchReplicaSchema>;

function columnsOf({ message, ...fields }: Patch): Partial<ModelReplicaRow> {
  return dropUndefined({ ...fields, last_message: message });
}

/** Refuses another job in the place of a replica's own, and an endpoint of another model. Throws 400. */
async function refuseForeign(tx: Transaction, before: ModelReplicaRow, { job_id, endpoint_id }: Patch): Promise<void> {
  if (job_id !== undefined && before.job_id !== null && job_id !== before.job_id)
    throw fieldError("job_id", `cannot change: the replica has the job '${before.job_id}'`);
  if (endpoint_id === undefined || endpoint_id === null || endpoint_id === before.endpoint_id) return;
  const found =
    before.model_id === null
      ? []
      : await tx
          .select({ id: modelEndpoints.id })
          .from(modelEndpoints)
          .where(and(eq(modelEndpoints.id, endpoint_id), eq(modelEndpoints.model_id, before.model_id)));
  if (found.length === 0) throw fieldError("endpoint_id", "is not an endpoint of the replica's model");
}

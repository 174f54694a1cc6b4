/**
 * Replicas of managed models on the Management API: record, filters and bodies
 * (docs/rules/managed-models.md#replica-fields).
 */
import * as z from "zod";
import { shownTime } from "../fields/common-fields.ts";
import { recordShape } from "../fields/field-table.ts";
import { MODEL_REPLICA_FIELDS, REPLICA_STATES } from "../fields/model-replica-fields.ts";
import { flag, oneOf, reportedText, requiredText, revField, storedId, uuidQuery, whole } from "./common.ts";
import { ERROR_CHARACTERS, PORT_MAX } from "./managed-model.ts";

const COUNT_MAX = 1_000_000;
const NODES_TEXT_MAX = 2000;

/** A job's id as the scheduler's addresses have it: one segment of a path. */
const jobId = requiredText(64).regex(/^[A-Za-z0-9_+-]+$/, "must be letters, digits, _ + -");
const portBase = whole(1, PORT_MAX).nullable();
const nodeList = z
  .string({ error: "must be a string" })
  .trim()
  .max(NODES_TEXT_MAX, `must be at most ${NODES_TEXT_MAX} characters`)
  .regex(/^[\x21-\x7e]*$/, "must be printable ASCII without spaces");

/** A replica as shown. `endpoint` is the health of its endpoint, which the provisioner's plan needs. */
export const modelReplicaSchema = z
  .object({
    ...recordShape(MODEL_REPLICA_FIELDS),
    endpoint: z
      .object({
        api_base: z.string(),
        enabled: z.boolean(),
        health_status: z.string(),
        consecutive_failures: z.number().int(),
        last_checked_at: shownTime.nullable(),
      })
      .nullable()
      .meta({ description: "The endpoint with `endpoint_id`, and its health. Null if there is none" }),
    rev: revField,
  })
  .meta({ id: "ModelReplica" });
export type ModelReplica = z.infer<typeof modelReplicaSchema>;

/** Filters of GET /replicas in addition to paging. */
export const replicaFilterSchema = z.object({
  model_id: uuidQuery.optional(),
  state: oneOf(REPLICA_STATES).optional(),
});

/**
 * POST /models/{id}/replicas: a job that runs already (`job_id`), or one that is about to be submitted under an `intent_id`
 * of the caller's choice (docs/rules/managed-models.md#intents).
 */
export const createReplicaSchema = z
  .object({
    job_id: jobId.optional().meta({ description: "ID of a job that the scheduler has accepted" }),
    intent_id: storedId.optional().meta({ description: "ID that the caller gives a job before submitting it" }),
    port_base: portBase.default(null),
  })
  .refine(({ job_id, intent_id }) => job_id !== undefined || intent_id !== undefined, {
    path: ["job_id"],
    message: "is required when intent_id is not given",
  })
  .meta({ id: "CreateReplica" });

/** PATCH /replicas/{id}: omitted fields keep their value. */
export const patchReplicaSchema = z
  .object({
    state: oneOf(REPLICA_STATES),
    message: reportedText(ERROR_CHARACTERS).nullable(),
    nodes: nodeList,
    endpoint_id: storedId.nullable(),
    job_id: jobId.meta({ description: "Only for a replica without a job" }),
    port_base: portBase,
    restart_count: whole(0, COUNT_MAX),
    probe_misses: whole(0, COUNT_MAX),
    cancel_requested: flag,
  })
  .partial()
  .meta({ id: "PatchReplica" });

/** POST /models/{id}/replicas/clear-lost: how many rows were removed. */
export const clearedReplicasSchema = z.object({ removed: z.number().int() }).meta({ id: "ClearedReplicas" });

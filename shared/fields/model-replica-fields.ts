/**
 * The fields of a replica: one job of a managed model, from before it is submitted until it is forgotten
 * (docs/rules/managed-models.md#replica-fields).
 */
import * as z from "zod";
import { ID_FIELD, shownTime, TIME_FIELDS } from "./common-fields.ts";
import type { FieldTable } from "./field-table.ts";

export const REPLICA_STATES = ["pending", "starting", "healthy", "draining", "lost"] as const;

export const MODEL_REPLICA_FIELDS = {
  id: ID_FIELD,
  /** Null: the model was removed, and the job has still to be cancelled. */
  model_id: { column: "uuid", value: z.string().nullable() },
  /** Kept when the model is removed. */
  model_name: { column: "text", value: z.string() },
  /** Names the job before the scheduler has given it an id; null: the job was not submitted by the provisioner. */
  intent_id: { column: "uuid", value: z.string().nullable(), unique: true },
  /**
   * Null: the job is not submitted yet, or the answer to its submission was lost. Unique among replicas that are not lost:
   * a scheduler that lost its state gives numbers again.
   */
  job_id: { column: "text", value: z.string().nullable() },
  /** The scheduler's list of the job's nodes, such as `n[01-02]`; "" before it runs. */
  nodes: { column: "text", value: z.string() },
  endpoint_id: { column: "uuid", value: z.string().nullable() },
  state: { column: "text", value: z.enum(REPLICA_STATES) },
  /** When `state` last changed. */
  state_since: { column: "instant", value: shownTime },
  last_message: { column: "text", value: z.string().nullable() },
  /** The first port of the replica's window. */
  port_base: { column: "integer", value: z.number().int().nullable() },
  /** How often a job of this row was cancelled because its probes failed. */
  restart_count: { column: "integer", value: z.number().int() },
  /** Failed probes, less those that passed since; never below 0. */
  probe_misses: { column: "integer", value: z.number().int() },
  cancel_requested: { column: "boolean", value: z.boolean() },
  ...TIME_FIELDS,
} as const satisfies FieldTable;

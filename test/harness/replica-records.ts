/** Records of managed models and replicas with every field at its default. */
import { type ManagedModel, putManagedModelSchema } from "../../shared/schema/managed-model.ts";
import type { ModelReplica } from "../../shared/schema/model-replica.ts";

/** A spec that wants two replicas on port 8000. */
export function blankSpec(model_id: string, model_name: string, created_at: string): ManagedModel {
  return {
    ...putManagedModelSchema.parse({ partition: "gpu", launch_command: "serve", serving_port: 8000 }),
    model_id,
    model_name,
    model_type: "chat",
    upstream_model: model_name,
    provision_error: null,
    replicas: { pending: 0, starting: 0, healthy: 0, draining: 0, lost: 0 },
    created_at,
    updated_at: created_at,
    rev: 1,
  };
}

/** A replica that has neither a model nor a job yet. */
export function blankRow(id: string, created_at: string): ModelReplica {
  return {
    id,
    model_id: null,
    model_name: "",
    intent_id: null,
    job_id: null,
    nodes: "",
    endpoint_id: null,
    endpoint: null,
    state: "pending",
    state_since: created_at,
    last_message: null,
    port_base: null,
    restart_count: 0,
    probe_misses: 0,
    cancel_requested: false,
    created_at,
    updated_at: created_at,
    rev: 1,
  };
}

/**
 * Endpoints of a model on the Management API: record and bodies (specification "Model endpoint", decisions §6).
 */
import * as z from "zod";
import { flag, nameField, warningsField, whole } from "./common.ts";
import { apiBase, headerSecret } from "./upstream.ts";

export const modelEndpointSchema = z
  .object({
    id: z.string(),
    model_id: z.string(),
    name: z.string(),
    api_base: z.string(),
    api_key_set: z.boolean(),
    priority: z.number().int(),
    weight: z.number().int(),
    enabled: z.boolean(),
    health_status: z.string(),
    consecutive_failures: z.number().int(),
    alert_state: z.string(),
    last_checked_at: z.string().nullable(),
    last_latency_ms: z.number().int().nullable(),
    last_http_status: z.number().int().nullable(),
    last_message: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
    warnings: warningsField,
  })
  .meta({ id: "ModelEndpoint" });
export type ModelEndpoint = z.infer<typeof modelEndpointSchema>;

const fields = {
  name: nameField,
  api_base: apiBase.refine((text) => text !== "", "must not be blank"),
  api_key: headerSecret.nullable().optional(),
  /** Lower is tried first. */
  priority: whole(0),
  weight: whole(1),
  enabled: flag,
};

/** POST /models/{id}/endpoints; api_base is checked against the address policy by the verb. */
export const createModelEndpointSchema = z
  .object({
    ...fields,
    priority: fields.priority.default(100),
    weight: fields.weight.default(100),
    enabled: fields.enabled.default(true),
  })
  .meta({ id: "CreateModelEndpoint" });

/** PUT /models/{id}/endpoints/{endpoint_id}: what is omitted keeps its value. */
export const updateModelEndpointSchema = z.object(fields).partial().meta({ id: "UpdateModelEndpoint" });

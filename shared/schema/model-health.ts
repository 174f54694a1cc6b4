/**
 * Health of models on the Management API (docs/rules/health.md#records).
 */
import * as z from "zod";
import { shownTime } from "../fields/common-fields.ts";
import { revField } from "./common.ts";
import { healthFields } from "./model.ts";

export const modelHealthSummarySchema = z
  .object({
    model_id: z.string(),
    model_name: z.string(),
    checks_enabled: z.boolean(),
    alerts_enabled: z.boolean(),
    check_interval_secs: z.number().int(),
    failure_threshold: z.number().int(),
    maintenance_until: shownTime.nullable(),
    maintenance_note: z.string().nullable(),
    status: z.string(),
    consecutive_failures: z.number().int(),
    alert_state: z.string(),
    next_check_at: shownTime.nullable(),
    last_checked_at: shownTime.nullable(),
    last_latency_ms: z.number().int().nullable(),
    last_http_status: z.number().int().nullable(),
    last_message: z.string().nullable(),
    updated_at: shownTime,
    rev: revField,
  })
  .meta({ id: "ModelHealthSummary" });
export type ModelHealthSummary = z.infer<typeof modelHealthSummarySchema>;

const modelHealthCheckSchema = z
  .object({
    id: z.string(),
    model_id: z.string(),
    checked_at: shownTime,
    trigger: z.enum(["manual", "bulk", "scheduled"]),
    status: z.string(),
    latency_ms: z.number().int().nullable(),
    http_status: z.number().int().nullable(),
    message: z.string().nullable(),
    response_excerpt: z.string().nullable(),
  })
  .meta({ id: "ModelHealthCheck" });

const endpointHealthCheckSchema = z
  .object({
    ...modelHealthCheckSchema.shape,
    endpoint_id: z.string(),
    endpoint_name: z.string().nullable().meta({ description: "Null if the endpoint has been removed" }),
  })
  .meta({ id: "EndpointHealthCheck" });

/** The newest checks first. */
export const modelHealthDetailSchema = z
  .object({
    summary: modelHealthSummarySchema,
    checks: z
      .array(modelHealthCheckSchema)
      .meta({ description: "Checks of the model itself, newest first, at most 50" }),
    endpoint_checks: z
      .array(endpointHealthCheckSchema)
      .meta({ description: "Checks of all its endpoints, newest first, at most 50" }),
  })
  .meta({ id: "ModelHealthDetail" });
export type ModelHealthDetail = z.infer<typeof modelHealthDetailSchema>;

/** POST /models/health */
export const modelHealthBulkSchema = z
  .object({
    checked: z.array(modelHealthDetailSchema),
    skipped: z.number().int().meta({ description: "Models that are disabled, have checks off or are in maintenance" }),
  })
  .meta({ id: "ModelHealthBulk" });
export type ModelHealthBulk = z.infer<typeof modelHealthBulkSchema>;

/** PUT /models/{id}/health/config: omitted fields keep their value. */
export const healthConfigSchema = z.object(healthFields).partial().meta({ id: "ModelHealthConfig" });

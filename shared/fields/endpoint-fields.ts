/**
 * The fields of a model's endpoint (docs/rules/models.md#endpoints). The results of health checks are not configuration, so
 * no backup contains them.
 */
import * as z from "zod";
import { AUTH_SCHEMES } from "../network/upstream-access.ts";
import { ID_FIELD, shownTime, TIME_FIELDS } from "./common-fields.ts";
import type { FieldTable } from "./field-table.ts";

export const ENDPOINT_FIELDS = {
  id: { ...ID_FIELD, hot: true },
  model_id: { column: "uuid", value: z.string() },
  name: { column: "text", value: z.string(), hot: true },
  api_base: { column: "text", value: z.string(), hot: true },
  /** In its stored form: ciphertext when an encryption key is set. */
  api_key: { column: "text", value: z.string().nullable(), record: { api_key_set: z.boolean() }, hot: true },
  /** Null: the model's. */
  auth_scheme: {
    column: "text",
    value: z.enum(AUTH_SCHEMES).nullable(),
    hot: { auth_scheme: z.enum(AUTH_SCHEMES).nullable().default(null) },
  },
  priority: { column: "bigint", value: z.number().int(), hot: true },
  weight: { column: "bigint", value: z.number().int(), hot: true },
  enabled: { column: "boolean", value: z.boolean(), hot: true },
  health_status: { column: "text", value: z.string(), backup: false, hot: true },
  consecutive_failures: { column: "integer", value: z.number().int(), backup: false },
  alert_state: { column: "text", value: z.string(), backup: false },
  next_check_at: { column: "instant", value: shownTime.nullable(), record: false, backup: false },
  last_checked_at: { column: "instant", value: shownTime.nullable(), backup: false },
  last_latency_ms: { column: "integer", value: z.number().int().nullable(), backup: false },
  last_http_status: { column: "integer", value: z.number().int().nullable(), backup: false },
  last_message: { column: "text", value: z.string().nullable(), backup: false },
  /** When the first of the consecutive failures happened. */
  failing_since: { column: "instant", value: shownTime.nullable(), record: false, backup: false },
  ...TIME_FIELDS,
} as const satisfies FieldTable;

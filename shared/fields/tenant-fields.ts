/**
 * The fields of a tenant (docs/rules/tenants.md#fields).
 */
import * as z from "zod";
import {
  BUDGET_FIELDS,
  END_USER_BUDGET_FIELDS,
  ID_FIELD,
  RATE_FIELDS,
  shownTime,
  TIME_FIELDS,
} from "./common-fields.ts";
import type { FieldTable } from "./field-table.ts";
import { forOperators } from "./operator-fields.ts";

export const TENANT_STATUSES = ["active", "suspended", "archived"] as const;
export const GUARDRAIL_ACTIONS = ["block", "redact", "log_only"] as const;
export const INPUT_SCANNERS = ["prompt_injection", "pii", "ban_keywords", "harm"] as const;
export const OUTPUT_SCANNERS = ["pii", "ban_keywords", "harm"] as const;

const guardrailsPolicySchema = z.object({
  action: z.enum(GUARDRAIL_ACTIONS),
  input_scanners: z.array(z.enum(INPUT_SCANNERS)),
  output_scanners: z.array(z.enum(OUTPUT_SCANNERS)),
  guard_model: forOperators(z.string().nullable()),
  ban_keywords: z.array(z.string()),
  fail_open: z.boolean(),
  // a copy that an earlier version has stored lacks it
  scan_assistant: z.boolean().default(false),
});

const compressionPolicySchema = z.object({
  enabled: z.boolean(),
  code_compaction: z.boolean(),
  dedup: z.boolean(),
  allow_lossy: z.boolean(),
});

const weeklyWindowSchema = z.object({
  /** 0 = Sunday. */
  day: z.number().int(),
  start_min: z.number().int(),
  end_min: z.number().int(),
});

export const TENANT_FIELDS = {
  id: { ...ID_FIELD, hot: true },
  name: { column: "text", unique: true, value: z.string(), hot: true },
  description: { column: "text", value: forOperators(z.string()) },
  organization: { column: "text", value: z.string() },
  contact: { column: "text", value: z.string() },
  status: { column: "text", value: z.enum(TENANT_STATUSES), hot: true },
  timezone: { column: "text", value: z.string(), hot: true },
  weight: { column: "integer", value: forOperators(z.number().int()), hot: true },
  ...RATE_FIELDS,
  max_in_flight: { column: "bigint", value: z.number().int().nullable(), hot: true },
  files_bytes: { column: "bigint", value: z.number().int() },
  fairshare_group: {
    column: "text",
    value: forOperators(z.string()),
    hot: { fairshare_group: z.string(), group_weight: z.number().int() },
  },
  active_from: {
    column: "instant",
    value: shownTime.nullable(),
    hot: { active_from_ms: z.number().int().nullable() },
  },
  active_until: {
    column: "instant",
    value: shownTime.nullable(),
    hot: { active_until_ms: z.number().int().nullable() },
  },
  weekly_windows: { column: "json", value: z.array(weeklyWindowSchema), hot: true },
  ...BUDGET_FIELDS,
  ...END_USER_BUDGET_FIELDS,
  allowed_models: { column: "json", value: z.array(z.string()).nullable(), hot: true },
  guardrails_policy: { column: "json", value: guardrailsPolicySchema.nullable(), hot: true },
  compression_policy: { column: "json", value: compressionPolicySchema.nullable(), hot: true },
  tracing_enabled: { column: "boolean", value: forOperators(z.boolean()), hot: true },
  capture_until: {
    column: "instant",
    value: shownTime.nullable(),
    backup: false,
    hot: { capture_until_ms: z.number().int().nullable().default(null) },
  },
  synthetic: { column: "boolean", value: forOperators(z.boolean()), hot: true },
  ...TIME_FIELDS,
} as const satisfies FieldTable;

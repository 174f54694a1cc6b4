/**
 * Usage reads on the Management API: queries and rows (docs/rules/usage-reads.md#shapes).
 */
import * as z from "zod";
import { usageRowSchema } from "../usage/usage-row.ts";
import { ADMISSION_CLASSES, CACHE_STATUSES, REQUEST_TYPES } from "../usage/usage-values.ts";
import { epochMsQuery as epochMs, oneOf, uuidQuery as uuid, whenValid } from "./common.ts";

/** The query fields that every usage read accepts. */
export const usageFilterFields = {
  since_ms: epochMs.optional(),
  until_ms: epochMs.optional(),
  tenant_id: uuid.optional(),
  key_id: uuid.optional(),
  model: z.string().optional(),
  include_internal: oneOf(["true", "false"])
    .optional()
    .transform((value) => value === "true"),
};

/** A number of milliseconds, as large as a column of times holds. */
const leastMs = z
  .string()
  .regex(/^\d{1,15}$/, "must be a whole number of milliseconds")
  .transform((value) => Math.min(Number(value), 2 ** 32 - 1));

/** Which requests a read of the log is about; query of GET /usage/logs/totals. */
export const usageLogFilterSchema = z.object({
  ...usageFilterFields,
  request_type: oneOf(REQUEST_TYPES).optional(),
  session_id: z.string().optional(),
  end_user: z.string().optional(),
  tag: z
    .string()
    .regex(/^[\w.-]{1,64}=[ -+\--~]{1,128}$/, "must be a tag in the form name=value")
    .optional()
    .meta({ description: "A tag that the request has, as name=value" }),
  status: oneOf(["success", "error", "refused", "failed", "left"])
    .optional()
    .meta({ description: "error: a status of 400 or higher. It is refused, failed or left" }),
  request_id: z
    .string()
    .regex(/^[0-9a-fA-F-]{1,36}$/, "must be the start of a UUID")
    .transform((value) => value.toLowerCase())
    .optional(),
  error_code: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,99}$/, "must be an error code, such as rate_limit_exceeded")
    .optional(),
  admission: oneOf(ADMISSION_CLASSES).optional(),
  cache_status: oneOf(CACHE_STATUSES).optional(),
  cell: z.string().optional(),
  min_total_ms: leastMs.optional(),
  min_queue_wait_ms: leastMs.optional(),
  traced_only: oneOf(["true", "false"]).optional(),
});

export type UsageLogFilter = z.infer<typeof usageLogFilterSchema>;

/** Query of GET /usage/logs. */
export const usageLogsQuerySchema = z
  .object({
    ...usageLogFilterSchema.shape,
    before_ms: epochMs.optional(),
    before_request_id: uuid.optional(),
    limit: z
      .string()
      .regex(/^[1-9]\d*$/, "must be a whole number of at least 1")
      .transform((value) => Math.min(Number(value), 200))
      .optional(),
  })
  .refine((query) => (query.before_ms === undefined) === (query.before_request_id === undefined), {
    message: "requires before_ms",
    path: ["before_request_id"],
    when: whenValid("before_ms", "before_request_id"),
  });

export type UsageLogsQuery = z.infer<typeof usageLogsQuerySchema>;

/** Query of GET /usage/models. */
export const usageModelsQuerySchema = z.object(usageFilterFields);
export type UsageModelsQuery = z.infer<typeof usageModelsQuerySchema>;

export const usageLogSchema = z
  .object({
    ...usageRowSchema.shape,
    tenant_name: z.string(),
    key_name: z.string(),
    key_prefix: z.string(),
    has_trace: z.boolean(),
  })
  .meta({ id: "UsageLogEntry" });
export type UsageLog = z.infer<typeof usageLogSchema>;

const ended = (description: string) => z.number().int().meta({ description });
/** How requests ended that were not served (docs/rules/usage-reads.md#outcomes); a request is at most one of them. */
export const notServed = {
  refused_requests: ended("Refused: by a limit, a rule, or as invalid"),
  failed_requests: ended("Failed at the upstream or the gateway, also in the middle of a stream"),
  left_requests: ended("The client left before its answer ended"),
};

/** Answer of GET /usage/logs/totals: sums of the rows that GET /usage/logs lists for the same filters. */
export const usageLogTotalsSchema = z
  .object({
    requests: z.number().int(),
    errors: z.number().int().meta({ description: "Requests with a status of 400 or higher" }),
    ...notServed,
    input_tokens: z.number().int(),
    output_tokens: z.number().int(),
    total_tokens: z.number().int(),
    cost_usd: z.number().meta({ description: "USD, rounded to 9 decimals" }),
  })
  .meta({ id: "UsageLogTotals" });
export type UsageLogTotals = z.infer<typeof usageLogTotalsSchema>;

export const modelUsageSchema = z
  .object({
    model: z.string(),
    requests: z.number().int(),
    input_tokens: z.number().int(),
    output_tokens: z.number().int(),
    total_tokens: z.number().int(),
    cost_usd: z.number(),
    gen_tokens_per_sec: z.number(),
    agg_tokens_per_sec: z.number(),
    avg_ttft_ms: z.number(),
    avg_total_ms: z.number(),
    p50_ttft_ms: z.number(),
    p50_total_ms: z.number(),
    avg_prompt_tokens: z.number(),
    avg_gen_tokens: z.number(),
    users: z.number().int(),
  })
  .meta({ id: "ModelUsage" });
export type ModelUsage = z.infer<typeof modelUsageSchema>;

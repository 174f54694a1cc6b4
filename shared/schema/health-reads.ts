/** How requests ended and how fast they were, over time and by group (docs/rules/usage-reads.md#health). */
import * as z from "zod";
import { QUARTER_MS } from "../time/zone-days.ts";
import { NIL_UUID } from "../usage/usage-row.ts";
import { oneOf } from "./common.ts";
import { notServed, usageFilterFields } from "./usage.ts";
import { bucketMs, count, dailyNames, endpointName, percentiles } from "./usage-reads.ts";

const HEALTH_GROUPS = ["time", "model", "tenant", "endpoint"] as const;
export type HealthGroup = (typeof HEALTH_GROUPS)[number];

const { since_ms, until_ms, tenant_id, key_id, model, include_internal } = usageFilterFields;

/** Query of GET /usage/health. */
export const usageHealthQuerySchema = z
  .object({
    since_ms,
    until_ms,
    tenant_id,
    key_id,
    model,
    endpoint: z.string().max(200).optional().meta({
      description:
        "Name of an endpoint; empty: the model's own base URL. Needs `model`, and counts only requests that reached it",
    }),
    include_internal,
    group_by: oneOf(HEALTH_GROUPS).prefault("time"),
    bucket_ms: bucketMs("3600000")
      .refine((width) => width % QUARTER_MS === 0, "must be a multiple of 900000")
      .meta({ description: "Width of a row with group_by=time: a multiple of 15 minutes. Default: 1 hour" }),
  })
  .refine(({ endpoint, model }) => endpoint === undefined || model !== undefined, {
    message: "needs the parameter model",
    path: ["endpoint"],
  });
export type UsageHealthQuery = z.infer<typeof usageHealthQuerySchema>;

/** A row of GET /usage/health. */
export const usageHealthSchema = z
  .object({
    bucket_ms: count.meta({ description: "Start of the bucket, Unix epoch in ms; 0 if not grouped by time" }),
    tenant_id: z.string().meta({ description: `${NIL_UUID} if not grouped by tenant` }),
    tenant_name: dailyNames.tenant_name,
    model: z.string(),
    endpoint: endpointName,
    requests: count,
    served_requests: count.meta({ description: "Neither refused, nor failed, nor left" }),
    ...notServed,
    ...percentiles("ttft_ms"),
    ...percentiles("total_ms"),
    gen_tokens_per_sec: z.number().nullable().meta({ description: "Median of output tokens per second of decoding" }),
  })
  .meta({ id: "UsageHealth" });
export type UsageHealth = z.infer<typeof usageHealthSchema>;

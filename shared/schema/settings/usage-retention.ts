/**
 * How many days of raw usage rows are kept (docs/rules/settings.md#usage-retention). The daily rollup is kept for ever.
 */
import * as z from "zod";
import { whole } from "../common.ts";

/** What is stored; no days: nothing was saved. */
export const usageRetentionValueSchema = z.object({ days: z.number().int().optional() });
export type RetentionValue = z.infer<typeof usageRetentionValueSchema>;

/** PUT /settings/usage-retention */
export const usageRetentionBodySchema = z.object({ days: whole(1, 36_500) }).meta({ id: "SetUsageRetention" });

/** `configured` false: nothing was saved, the environment's default holds. */
export const usageRetentionSchema = z
  .object({ days: z.number().int(), configured: z.boolean() })
  .meta({ id: "UsageRetention" });
export type UsageRetention = z.infer<typeof usageRetentionSchema>;

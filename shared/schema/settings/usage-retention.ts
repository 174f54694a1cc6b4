/** How many days raw usage rows are kept (docs/rules/settings.md#usage-retention). The daily rollup is never deleted. */
import * as z from "zod";
import { revField, whole } from "../common.ts";

const days = whole(1, 36_500);

/** The stored value; the number of days is absent when nothing was saved. */
export const usageRetentionValueSchema = z.object({ days: days.optional() });
export type RetentionValue = z.infer<typeof usageRetentionValueSchema>;

/** PUT /settings/usage-retention */
export const usageRetentionBodySchema = z.object({ days }).meta({ id: "SetUsageRetention" });

/** `configured` is false when nothing was saved, so that the environment's default applies. */
export const usageRetentionSchema = z
  .object({ days: z.number().int(), configured: z.boolean(), rev: revField })
  .meta({ id: "UsageRetention" });
export type UsageRetention = z.infer<typeof usageRetentionSchema>;

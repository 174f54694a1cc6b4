/** Reads of spend: by day and group, and of this month beside the one before (docs/rules/usage-reads.md#months). */
import * as z from "zod";
import { NIL_UUID } from "../usage/usage-row.ts";
import { oneOf } from "./common.ts";
import { usageFilterFields } from "./usage.ts";
import {
  CLIENT_GROUPS,
  clientGroup,
  count,
  dailyFilter,
  dailyNames,
  dayFields,
  endpointName,
  energy,
  limit,
  oneKindOfPeriod,
  tag_name,
  tagIsNamed,
  usd,
  usdField,
} from "./usage-reads.ts";

/** Query of GET /costs. */
export const costsQuerySchema = z
  .object({
    ...usageFilterFields,
    ...dayFields,
    group_by: oneOf(["model", ...CLIENT_GROUPS]).prefault("model"),
    tag_name,
    limit: limit(1_000, 10_000),
  })
  .refine(oneKindOfPeriod.check, oneKindOfPeriod.params)
  .refine(tagIsNamed.check, tagIsNamed.params);
export type CostsQuery = z.infer<typeof costsQuerySchema>;

const SPEND_GROUPS = ["tenant", "key", "model", "endpoint", ...CLIENT_GROUPS] as const;
/** Query of GET /costs/daily. */
export const dailySpendQuerySchema = z
  .object({
    ...dayFields,
    ...dailyFilter,
    group_by: oneOf(SPEND_GROUPS).prefault("model"),
    top: limit(7, 50).meta({ description: "Number of groups that are named; the others are one row a day" }),
  })
  .refine(tagIsNamed.check, tagIsNamed.params);
export type DailySpendQuery = z.infer<typeof dailySpendQuerySchema>;

/** Query of GET /costs/months. */
export const monthSpendQuerySchema = z
  .object({
    timezone: dayFields.timezone,
    ...dailyFilter,
    group_by: oneOf(SPEND_GROUPS).prefault("model"),
    limit: limit(1_000, 10_000),
  })
  .refine(tagIsNamed.check, tagIsNamed.params);
export type MonthSpendQuery = z.infer<typeof monthSpendQuerySchema>;

const spendGroup = {
  tenant_id: z.string().meta({ description: `${NIL_UUID} if not grouped by tenant` }),
  key_id: z.string().meta({ description: `${NIL_UUID} if not grouped by key` }),
  model: z.string(),
  endpoint: endpointName,
  ...clientGroup,
  ...dailyNames,
};

/** A row of GET /costs/daily. */
export const dailySpendSchema = z
  .object({
    day: z.string().meta({ description: "YYYY-MM-DD" }),
    is_rest: z.boolean().meta({ description: "The sum of all groups that are not named" }),
    ...spendGroup,
    requests: count,
    total_tokens: count,
    cost_usd: usdField(),
    energy_wh: z.number(),
    co2_g: z.number(),
  })
  .meta({ id: "DailySpend" });
export type DailySpend = z.infer<typeof dailySpendSchema>;

const monthSums = {
  last_month_usd: usdField().meta({ description: "The whole month before" }),
  same_days_usd: usdField().meta({ description: "The same days of the month before" }),
  month_to_date_usd: usdField().meta({ description: "This month, today included" }),
  forecast_usd: usdField()
    .nullable()
    .meta({ description: "Projected spend of the whole month. Null: less than an hour of spend is known" }),
};

/** Answer of GET /costs/months. */
export const monthSpendSchema = z
  .object({
    timezone: z.string(),
    today: z.string(),
    month_start: z.string(),
    month_end: z.string(),
    last_month_start: z.string(),
    same_days_end: z.string().meta({ description: "Last of the same days of the month before" }),
    ...monthSums,
    groups: z.array(z.object({ ...spendGroup, ...monthSums })).meta({ description: "Most expensive first" }),
  })
  .meta({ id: "MonthSpend" });
export type MonthSpend = z.infer<typeof monthSpendSchema>;

export const modelCostSchema = z
  .object({
    model: z.string(),
    ...clientGroup,
    requests: count,
    input_tokens: count,
    output_tokens: count,
    input_cost: usd.meta({ description: "At current prices, for information" }),
    output_cost: usd.meta({ description: "At current prices, for information" }),
    total_cost: usd.meta({ description: "Sum of the cost recorded for each request" }),
    ...energy,
  })
  .meta({ id: "ModelCost" });
export type ModelCost = z.infer<typeof modelCostSchema>;

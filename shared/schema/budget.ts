/**
 * The budget of a tenant or key and how much of it is used (docs/rules/budgets.md#usage-read).
 */
import * as z from "zod";
import { BUDGET_PERIODS } from "../fields/common-fields.ts";
import { timestamp } from "./common.ts";

/** `GET /{tenants,keys}/{id}/budget/usage` */
export const budgetUsageSchema = z
  .object({
    budget_period: z.enum(BUDGET_PERIODS).nullable(),
    /** From the local month, the term, or the lifetime; null when the budget has no period. */
    period_start: timestamp.nullable(),
    period_end: timestamp.nullable(),
    budget_tokens: z.number().int().nullable(),
    budget_cost_usd: z.number().nullable(),
    used_tokens: z.number().int(),
    used_cost_usd: z.number(),
    /** Leased to the cells, for requests that run or are about to arrive. */
    reserved_tokens: z.number().int(),
    reserved_cost_usd: z.number(),
    remaining_tokens: z.number().int().nullable(),
    remaining_cost_usd: z.number().nullable(),
    /** The part that is used, by cap: the larger of tokens and cost, to 4 decimals; null without caps. */
    ratio: z.number().nullable(),
    state: z.enum(["none", "ok", "warned", "exhausted"]),
    tokens_per_day: z
      .number()
      .nullable()
      .meta({ description: "Mean since the first use, recent days weighted more. Null: nothing was used yet" }),
    cost_usd_per_day: z.number().nullable(),
    runs_out_at: timestamp
      .nullable()
      .meta({ description: "When the first limit is reached at this rate. Null: not before the period ends" }),
    runs_out_by: z.enum(["tokens", "cost_usd"]).nullable().meta({ description: "The limit that is reached first" }),
    limit_to_last: z
      .number()
      .nullable()
      .meta({ description: "Value of that limit that would last until the period ends at this rate" }),
    per_day_to_last: z
      .number()
      .nullable()
      .meta({ description: "Use per day, from now on, with which that limit lasts until the period ends" }),
  })
  .meta({ id: "BudgetUsage" });
export type BudgetUsage = z.infer<typeof budgetUsageSchema>;

/** A row of `GET /budgets`. */
export const tenantBudgetUsageSchema = z
  .object({ tenant_id: z.string(), tenant_name: z.string(), timezone: z.string(), ...budgetUsageSchema.shape })
  .meta({ id: "TenantBudgetUsage" });
export type TenantBudgetUsage = z.infer<typeof tenantBudgetUsageSchema>;

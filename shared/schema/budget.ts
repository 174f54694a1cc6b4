/**
 * The budget of a tenant or key and how much of it is used (docs/rules/budgets.md#usage-read).
 */
import * as z from "zod";
import { BUDGET_PERIODS } from "../fields/common-fields.ts";

/** `GET /{tenants,keys}/{id}/budget/usage` */
export const budgetUsageSchema = z
  .object({
    budget_period: z.enum(BUDGET_PERIODS).nullable(),
    /** Of the local month, the term, or the lifetime; null when it has none. */
    period_start: z.string().nullable(),
    period_end: z.string().nullable(),
    budget_tokens: z.number().int().nullable(),
    budget_cost_usd: z.number().nullable(),
    used_tokens: z.number().int(),
    used_cost_usd: z.number(),
    /** Out on lease to the cells, for requests under way or about to come. */
    reserved_tokens: z.number().int(),
    reserved_cost_usd: z.number(),
    remaining_tokens: z.number().int().nullable(),
    remaining_cost_usd: z.number().nullable(),
    /** Used by cap, the larger of tokens and cost, to 4 decimals; null without caps. */
    ratio: z.number().nullable(),
    state: z.enum(["none", "ok", "warned", "exhausted"]),
  })
  .meta({ id: "BudgetUsage" });
export type BudgetUsage = z.infer<typeof budgetUsageSchema>;

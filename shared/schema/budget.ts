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
  })
  .meta({ id: "BudgetUsage" });
export type BudgetUsage = z.infer<typeof budgetUsageSchema>;

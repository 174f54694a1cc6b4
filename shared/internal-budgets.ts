/**
 * The internal routes about budgets (shared/internal.ts): a read of counters, and their rebuild from the ledger. The
 * control service states whose, with the limits as the database has them; the TenantBudget object keeps the newest.
 */
import * as z from "zod";
import { resolvedKeySchema, resolvedTenantSchema } from "./records.ts";

/** What binds a tenant. */
export const tenantLimitsSchema = resolvedTenantSchema.pick({
  id: true,
  name: true,
  timezone: true,
  tokens_per_minute: true,
  budget: true,
  active_until_ms: true,
  rev: true,
});

/** What binds a key besides. */
export const keyLimitsSchema = resolvedKeySchema.pick({
  key_id: true,
  key_name: true,
  key_prefix: true,
  budget: true,
  rev: true,
});

/** Whose counters: those of the tenant when `key` is null, else those of the key. */
export const budgetSubjectSchema = z.object({ tenant: tenantLimitsSchema, key: keyLimitsSchema.nullable() });
export type BudgetSubject = z.infer<typeof budgetSubjectSchema>;

/** `POST /internal/budget/usage` with a BudgetSubject; the read of decisions §3.5, times still as Unix epoch ms. */
export const budgetReadSchema = z.object({
  budget_period: z.enum(["lifetime", "monthly", "term"]).nullable(),
  period_start_ms: z.number().int().nullable(),
  period_end_ms: z.number().int().nullable(),
  budget_tokens: z.number().int().nullable(),
  budget_cost_usd: z.number().nullable(),
  used_tokens: z.number().int(),
  used_cost_usd: z.number(),
  reserved_tokens: z.number().int(),
  reserved_cost_usd: z.number(),
  remaining_tokens: z.number().int().nullable(),
  remaining_cost_usd: z.number().nullable(),
  ratio: z.number().nullable(),
  state: z.enum(["none", "ok", "warned", "exhausted"]),
});
export type BudgetRead = z.infer<typeof budgetReadSchema>;

/** Subjects of one rebuild; the control service sends as many requests as it takes. */
export const REBUILD_BATCH = 20;

/** `POST /internal/budget/rebuild`: body. */
export const rebuildBodySchema = z.object({ subjects: z.array(budgetSubjectSchema).min(1).max(REBUILD_BATCH) });

/** The answer: how many of them were held against the ledger; less when the ledger did not answer. */
export const rebuiltSchema = z.object({ rebuilt: z.number().int() });

/**
 * The internal routes about budgets (shared/wire/internal.ts): a read of counters, and their comparison with the ledger. The
 * control service sends whose counters they are, with the limits from the database; the TenantBudget object keeps the
 * newest limits.
 */
import * as z from "zod";
import { RATE_PICK } from "../fields/rates.ts";
import { resolvedKeySchema, resolvedTenantSchema } from "../records.ts";

/** The limits of a tenant. */
export const tenantLimitsSchema = resolvedTenantSchema.pick({
  id: true,
  name: true,
  timezone: true,
  ...RATE_PICK,
  budget: true,
  active_until_ms: true,
  rev: true,
});

/** The additional limits of a key. */
export const keyLimitsSchema = resolvedKeySchema.pick({
  key_id: true,
  key_name: true,
  key_prefix: true,
  ...RATE_PICK,
  budget: true,
  rev: true,
});

/** Whose counters: the tenant's when `key` is null, else the key's. */
export const budgetSubjectSchema = z.object({ tenant: tenantLimitsSchema, key: keyLimitsSchema.nullable() });
export type BudgetSubject = z.infer<typeof budgetSubjectSchema>;

/**
 * `POST /internal/budget/usage` with a BudgetSubject; the read of docs/rules/budgets.md#usage-read, with times in Unix
 * epoch ms.
 */
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
  /** An older Worker sends no rates. */
  tokens_per_day: z.number().nullable().default(null),
  cost_usd_per_day: z.number().nullable().default(null),
});
export type BudgetRead = z.infer<typeof budgetReadSchema>;

/** Subjects in one request; the control service sends as many requests as it needs. */
export const REBUILD_BATCH = 20;

/** `POST /internal/budget/rebuild`: body. */
export const rebuildBodySchema = z.object({ subjects: z.array(budgetSubjectSchema).min(1).max(REBUILD_BATCH) });

/** The answer: how many of them were compared with the ledger; fewer when the ledger did not answer. */
export const rebuiltSchema = z.object({ rebuilt: z.number().int() });

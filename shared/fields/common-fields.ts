/** Fields that several resources have: id, times, the limits per minute, and the four fields of a budget. */
import * as z from "zod";
import type { FieldTable } from "./field-table.ts";

export const BUDGET_PERIODS = ["lifetime", "monthly", "term"] as const;

/** A budget as the hot copies of tenants and keys contain it. */
export const resolvedBudgetSchema = z.object({
  tokens: z.number().int().nullable(),
  cost_usd: z.number().nullable(),
  period: z.enum(BUDGET_PERIODS).nullable(),
  started_at_ms: z.number().int().nullable(),
});

export const ID_FIELD = { column: "uuid", value: z.string() } as const;

/** When the row was created and last changed. */
export const TIME_FIELDS = {
  created_at: { column: "instant", value: z.string() },
  updated_at: { column: "instant", value: z.string() },
} as const satisfies FieldTable;

/** A limit per minute of a tenant or key; 0: none. Older hot copies lack some of them. */
const perMinute = { column: "bigint", value: z.number().int() } as const;
const hotPerMinute = z.number().int().default(0);

export const RATE_FIELDS = {
  tokens_per_minute: { ...perMinute, hot: { tokens_per_minute: hotPerMinute } },
  requests_per_minute: { ...perMinute, hot: { requests_per_minute: hotPerMinute } },
} as const satisfies FieldTable;

export type RateField = keyof typeof RATE_FIELDS;
export const RATE_FIELD_NAMES = Object.keys(RATE_FIELDS) as readonly RateField[];

/** The same for every limit per minute. */
export function byRateField<const T>(value: T): Readonly<Record<RateField, T>> {
  return Object.fromEntries(RATE_FIELD_NAMES.map((name) => [name, value])) as Record<RateField, T>;
}

export const NO_RATES = byRateField(0);

/** Picks them of a schema. */
export const RATE_PICK = byRateField(true);

/** The limits per minute of something that has them. */
export function ratesIn<T extends { readonly [R in RateField]?: unknown }>(of: T): Pick<T, RateField> {
  return Object.fromEntries(RATE_FIELD_NAMES.map((name) => [name, of[name]])) as Pick<T, RateField>;
}

/** The hot copy contains the four columns as one object. */
const hot = { budget: resolvedBudgetSchema };

export const BUDGET_FIELDS = {
  budget_tokens: { column: "bigint", value: z.number().int().nullable(), hot },
  budget_cost_usd: { column: "double", value: z.number().nullable(), hot },
  budget_period: { column: "text", value: z.enum(BUDGET_PERIODS).nullable(), hot },
  budget_started_at: { column: "instant", value: z.string().nullable(), hot },
} as const satisfies FieldTable;

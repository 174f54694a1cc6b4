/** Fields that several resources have: id, times, the limits per minute, and the four fields of a budget. */
import * as z from "zod";
import type { FieldTable } from "./field-table.ts";
import { RATE_FIELD_NAMES, type RateField } from "./rates.ts";

export const BUDGET_PERIODS = ["lifetime", "monthly", "term"] as const;

/** A budget as the hot copies of tenants and keys contain it. */
export const resolvedBudgetSchema = z.object({
  tokens: z.number().int().nullable(),
  cost_usd: z.number().nullable(),
  period: z.enum(BUDGET_PERIODS).nullable(),
  started_at_ms: z.number().int().nullable(),
});

export const ID_FIELD = { column: "uuid", value: z.string() } as const;

/** A point in time as a record shows it: ISO 8601 in UTC with milliseconds, in the years 1 to 9999. */
export const shownTime = z.string().meta({ format: "date-time" });

/** When the row was created and last changed. */
export const TIME_FIELDS = {
  created_at: { column: "instant", value: shownTime },
  updated_at: { column: "instant", value: shownTime },
} as const satisfies FieldTable;

/** A limit per minute of a tenant or key; 0: none. Older hot copies lack some of them. */
const perMinute = { column: "bigint", value: z.number().int() } as const;
const hotPerMinute = z.number().int().default(0);

const rateField = <R extends RateField>(name: R) => ({
  ...perMinute,
  hot: { [name]: hotPerMinute } as Record<R, typeof hotPerMinute>,
});

export const RATE_FIELDS = Object.fromEntries(RATE_FIELD_NAMES.map((name) => [name, rateField(name)])) as {
  readonly [R in RateField]: ReturnType<typeof rateField<R>>;
};

const NO_BUDGET = { tokens: null, cost_usd: null, period: null, started_at_ms: null };
const hotEndUser = { end_user_budget: resolvedBudgetSchema.default(NO_BUDGET) };

/** The hot copy contains the four columns as one object. */
const hot = { budget: resolvedBudgetSchema };

export const BUDGET_FIELDS = {
  budget_tokens: { column: "bigint", value: z.number().int().nullable(), hot },
  budget_cost_usd: { column: "double", value: z.number().nullable(), hot },
  budget_period: { column: "text", value: z.enum(BUDGET_PERIODS).nullable(), hot },
  budget_started_at: { column: "instant", value: shownTime.nullable(), hot },
} as const satisfies FieldTable;

/** The budget of each end user of a tenant. It starts when the tenant's does. */
export const END_USER_BUDGET_FIELDS = {
  end_user_budget_tokens: { ...BUDGET_FIELDS.budget_tokens, hot: hotEndUser },
  end_user_budget_cost_usd: { ...BUDGET_FIELDS.budget_cost_usd, hot: hotEndUser },
  end_user_budget_period: { ...BUDGET_FIELDS.budget_period, hot: hotEndUser },
} as const satisfies FieldTable;

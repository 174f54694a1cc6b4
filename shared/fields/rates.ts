/** The limits per minute that tenants and keys have. Apart from the schemas, so that pages of the console need not load those. */
export const RATE_FIELD_NAMES = ["tokens_per_minute", "requests_per_minute"] as const;
export type RateField = (typeof RATE_FIELD_NAMES)[number];

/** True for the name of a limit per minute: 0 is no limit. */
export function isRateField(name: string): boolean {
  return RATE_FIELD_NAMES.some((rate) => rate === name);
}

/** The same for every limit per minute. */
export function byRateField<const T>(value: T): Readonly<Record<RateField, T>> {
  return Object.fromEntries(RATE_FIELD_NAMES.map((name) => [name, value])) as Record<RateField, T>;
}

/** None of them. */
export const NO_RATES = byRateField(0);

/** Picks them of a schema. */
export const RATE_PICK = byRateField(true);

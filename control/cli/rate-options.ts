/** The options of limits per minute, which tenants and keys have. */
import type { RateField } from "../../shared/fields/rates.ts";
import { toNumber } from "./arguments.ts";

export const RATE_OPTIONS = {
  tokens_per_minute: ["--tpm <n>", "tokens per minute, 0 for no limit", toNumber],
  requests_per_minute: ["--rpm <n>", "requests per minute, 0 for no limit", toNumber],
} as const satisfies Readonly<Record<RateField, unknown>>;
